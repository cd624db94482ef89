'use strict';

module.exports = (policyContext) => {
  const { query } = policyContext.request;
  query.filters = { $and: [query.filters ?? {}, { approved: true }] };
  return true;
};
