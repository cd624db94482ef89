/** The rooms in the order of the bar; each is also the first part of its addresses. */
export const rooms = ['map', 'ask', 'content', 'media', 'access', 'health'] as const;
