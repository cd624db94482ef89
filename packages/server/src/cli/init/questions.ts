/** The questions that `init` asks on a terminal; loaded only then. */
import { confirm, intro, isCancel, outro, select, text } from '@clack/prompts';
import { StartFault } from '../start-fault.js';
import type { PackageManager } from './packages.js';
import { type Choices, defaults, folderFault, type Language, type Template } from './template.js';

const templateOptions: readonly { readonly value: Template; readonly label: string; readonly hint: string }[] = [
  { value: 'blog', label: 'Blog', hint: 'posts and authors, with a few of each' },
  { value: 'empty', label: 'Empty', hint: 'no content types yet' },
];
const languageOptions: readonly { readonly value: Language; readonly label: string }[] = [
  { value: 'typescript', label: 'TypeScript' },
  { value: 'javascript', label: 'JavaScript' },
];

/** Asks for what is not given. Throws a `StartFault` if the user cancels. */
export const askFor = async (given: Partial<Choices>, manager: PackageManager): Promise<Choices> => {
  intro('A new Dovetail project');
  const dir =
    given.dir ??
    (await answer(
      text({
        message: 'Which folder?',
        placeholder: defaults.dir,
        defaultValue: defaults.dir,
        validate: (value) => folderFault(value || defaults.dir) ?? undefined,
      }),
    ));
  const template =
    given.template ?? (await answer(select({ message: 'Which template?', options: [...templateOptions] })));
  const language =
    given.language ?? (await answer(select({ message: 'Language for handlers?', options: [...languageOptions] })));
  const install = given.install ?? (await answer(confirm({ message: `Install the dependencies with ${manager}?` })));
  outro('That is all.');
  return { dir, template, language, install };
};

const answer = async <T>(asked: Promise<T>): Promise<Exclude<T, symbol>> => {
  const value = await asked;
  if (isCancel(value)) throw new StartFault('Cancelled; nothing was written.');
  return value as Exclude<T, symbol>;
};
