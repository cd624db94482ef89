/** What belongs to the project; .env has what differs between machines. */
export default {
  api: { rest: { defaultLimit: 25, maxLimit: 100 } },
};
