/** The find handler that the specification's rule Q9 asks for: it adds the creator fields. */
export default {
  find: ({ next }) => next({ creatorFields: true }),
};
