'use strict';

module.exports = {
  routes: [{ method: 'GET', path: '/dishes/today', handler: 'dish.today' }],
};
