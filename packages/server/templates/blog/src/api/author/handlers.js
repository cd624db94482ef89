/** @type {import('dovetail/handlers').Handlers} */
const handlers = {
  /** `content` reads and writes with the server's own rights; refusing rolls the whole write back. */
  beforeDelete: async ({ id, content, refuse }) => {
    const posts = await content.find('api::post.post', { filters: { author: id }, publicationState: 'preview' });
    if (Array.isArray(posts.data) && posts.data.length > 0) refuse('An author who has posts cannot be deleted', 409);
  },
};

export default handlers;
