import type { Handlers } from 'dovetail/handlers';

/**
 * The ledger shows who wrote a line: its schema file has `populateCreatorFields`, this handler adds the fields, and the
 * request asks for them with `populate=createdBy`. Without any one of the three they stay away.
 */
const handlers: Handlers = {
  find: ({ next }) => next({ creatorFields: true }),
};

export default handlers;
