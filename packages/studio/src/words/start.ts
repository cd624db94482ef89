/** The texts of the first page. */
const count = (value: number): string => value.toLocaleString('en');

export const start = {
  title: 'Your content, as an API',
  lead: (types: number) => `This server has ${count(types)} content ${types === 1 ? 'type' : 'types'}, and answers at`,
  leadEnd: 'Explore the model, build queries, and edit and reorder content.',
  noTypes: 'The project has no content types yet. Add one in src/api and it appears here.',
  next: 'Next steps',
  request: {
    title: 'An example request',
    copy: 'Copy URL',
    copied: 'Copied',
    change: 'Edit in Ask',
    answered: (ms: number) => `Response, received in ${count(ms)} ms:`,
    answer: 'Response',
  },
  closed: {
    title: 'No content is readable yet',
    public:
      'The role Public has no permission to read any content type. Sign in to see the content, and grant permissions in Access.',
    role: 'You do not have permission to read any content type. Ask an administrator.',
  },
  signIn: {
    title: 'Sign in to edit content',
    text: 'Without an account you see what the role Public can see.',
    action: 'Sign in',
  },
  account: {
    title: 'Create an account to edit content',
    link: 'Without one you see what the role Public can see. Open the link that the server printed when it started, or run this in the project folder:',
    command: 'Without one you see what the role Public can see. Run this in the project folder, then reload this page:',
  },
  map: { title: 'See the content model', text: 'Content types and the relations between them.', action: 'Open Map' },
  order: {
    title: (target: string, type: string) =>
      `Reorder the ${target} list of ${/^[aeiou]/i.test(type) ? 'an' : 'a'} ${type}`,
    text: 'Drag and drop, or use the keyboard. The page shows the request that saves the new order.',
    action: 'Open the list',
  },
  content: {
    title: 'Edit content',
    text: 'Entries with all their fields, components and media.',
    action: 'Open Content',
  },
  types: {
    title: 'Content types',
    type: 'Content type',
    path: 'API path',
    entries: 'Entries',
    go: 'Open',
    askFor: (type: string) => `Ask for ${type}`,
    closed: 'no access',
    more: (types: number) => `${count(types)} more on the map`,
  },
} as const;
