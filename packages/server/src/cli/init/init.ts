/** `init`: makes a new project in an empty folder. */
import path from 'node:path';
import process from 'node:process';
import { StartFault, UsageFault } from '../start-fault.js';
import { installWith, type PackageManager, packageManagerOf, runsScript } from './packages.js';
import {
  type Choices,
  defaults,
  folderFault,
  languages,
  openWith,
  type Template,
  templates,
  writeProject,
} from './template.js';

/** @param yes takes the defaults of what is not given, instead of asking. */
export const init = async (given: Partial<Choices>, yes: boolean): Promise<void> => {
  if (given.dir !== undefined) requireEmpty(given.dir);
  const manager = packageManagerOf(process.env['npm_config_user_agent']);
  const choices = yes ? { ...defaults, ...given } : await ask(given, manager);
  requireEmpty(choices.dir);
  const files = writeProject(choices);
  process.stdout.write(`\n${created(choices, files)}\n`);
  const isInstalled = choices.install && (await installWith(manager, choices.dir));
  process.stdout.write(nextSteps(choices, manager, isInstalled));
  if (choices.install && !isInstalled)
    throw new StartFault(`The dependencies are not installed, see above: run ${manager} install once more.`);
};

const ask = async (given: Partial<Choices>, manager: PackageManager): Promise<Choices> => {
  if (!process.stdin.isTTY || !process.stdout.isTTY)
    throw new UsageFault(
      `There is no terminal to ask on. Pass --yes for the defaults: dovetail init ${given.dir ?? defaults.dir} --yes\nOther choices: --template ${templates.join('|')}, --language ${languages.join('|')}, --no-install`,
    );
  const { askFor } = await import('./questions.js');
  return askFor(given, manager);
};

const requireEmpty = (dir: string): void => {
  const fault = folderFault(dir);
  if (fault !== null) throw new StartFault(`${fault} A new project needs an empty folder; nothing was written.`);
};

const created = ({ dir, template, language }: Choices, files: number): string =>
  `Created ${path.resolve(dir)}: ${files} files, template ${template}, ${language === 'typescript' ? 'TypeScript' : 'JavaScript'}.`;

const nextSteps = ({ dir, template }: Choices, manager: PackageManager, isInstalled: boolean): string => {
  const folder = path.relative('', dir);
  const commands = [
    ...(folder === '' ? [] : [`cd ${/^[\w./\\-]+$/.test(folder) ? folder : JSON.stringify(folder)}`]),
    ...(isInstalled ? [] : [`${manager} install`]),
    runsScript(manager, 'dev'),
  ];
  return `\nNext:\n\n${lines(commands)}\nThen open:\n\n${lines(pages(template))}\n`;
};

const pages = (template: Template): readonly string[] => {
  const width = Math.max(...openWith[template].map(([place]) => place.length));
  return openWith[template].map(([place, what]) => `${place.padEnd(width)}  ${what}`);
};

const lines = (texts: readonly string[]): string => texts.map((it) => `  ${it}\n`).join('');
