#!/usr/bin/env node
/** The command line. */
import { Command } from 'commander';
import { StartFault } from './config.js';
import { start } from './start.js';

const program = new Command('dovetail').description(
  'A content API server: JSON schema files in, a fast and exact REST API out.',
);

const project = (command: Command): Command => command.requiredOption('--project <dir>', "the project's folder");

project(program.command('start').description('serve a project until SIGTERM')).action(
  ({ project: dir }: { project: string }) => start(dir),
);

try {
  await program.parseAsync();
} catch (fault) {
  if (!(fault instanceof StartFault)) throw fault;
  process.stderr.write(`${fault.message}\n`);
  process.exitCode = 1;
}
