#!/usr/bin/env node
/** The command line. Each command loads its own code: `start` does not wait for the others. */
import { Command } from 'commander';
import { StartFault } from './config.js';

const program = new Command('dovetail').description(
  'A content API server: JSON schema files in, a fast and exact REST API out.',
);

interface ProjectOption {
  readonly project: string;
}
const command = (name: string, description: string): Command =>
  program.command(name).description(description).requiredOption('--project <dir>', "the project's folder");

command('start', 'serve a project until SIGTERM').action(async ({ project }: ProjectOption) => {
  const { start } = await import('./start.js');
  await start(project);
});

command('check', 'report model and database side by side').action(async ({ project }: ProjectOption) => {
  const { check } = await import('./database.js');
  await check(project);
});

command('sync', 'add the tables and columns that the database lacks')
  .option('--dry-run', 'print the statements instead')
  .action(async ({ project, dryRun }: ProjectOption & { readonly dryRun?: boolean }) => {
    const { sync } = await import('./database.js');
    await sync(project, { dryRun: dryRun === true });
  });

command('explain', 'print what a URL means and how it is fetched: selection, plan, statements')
  .argument('<url>', 'such as /api/articles?populate=*')
  .option('--json', 'as JSON')
  .action(async (url: string, { project, json }: ProjectOption & { readonly json?: boolean }) => {
    const { explain } = await import('./explain.js');
    await explain(project, url, { json: json === true });
  });

try {
  await program.parseAsync();
} catch (fault) {
  if (!(fault instanceof StartFault)) throw fault;
  process.stderr.write(`${fault.message}\n`);
  process.exitCode = 1;
}
