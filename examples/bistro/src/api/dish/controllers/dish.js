'use strict';

const { createCoreController } = require('@strapi/strapi').factories;

module.exports = createCoreController('api::dish.dish', ({ strapi }) => ({
  async today(ctx) {
    return strapi.entityService.findMany('api::dish.dish', { filters: { today: true } });
  },
}));
