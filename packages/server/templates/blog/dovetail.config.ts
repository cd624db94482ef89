/** What belongs to the project; .env has what differs between machines. */
export default {
  api: { rest: { defaultLimit: 25, maxLimit: 100 } },
  // lists are sorted by these, from either end
  indexes: { 'api::post.post': ['publishedOn'] },
};
