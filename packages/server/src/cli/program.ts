/**
 * The command line. Each command loads its own code: `start` does not wait for the others. Exit codes: 0 done, 1 the
 * command failed, 2 the command line is wrong.
 */
import { createRequire } from 'node:module';
import { Command, CommanderError } from 'commander';
import { Refusal } from '../errors.js';
import type { TokenOptions, UserOptions } from './account-commands.js';
import { StartFault } from './config.js';
import { sayRefusal } from './refusal.js';

const { version } = createRequire(import.meta.url)('../../package.json') as { readonly version: string };

const program = new Command('dovetail')
  .description('A content API server: JSON schema files in, a fast and exact REST API out.')
  .version(version, '--version', 'print the version')
  .showHelpAfterError('Run with --help for the usage.')
  .exitOverride();

interface ProjectOption {
  readonly project: string;
}
const command = (name: string, description: string, parent: Command = program): Command =>
  parent.command(name).description(description).option('--project <dir>', "the project's folder", '.');

command('start', 'serve a project until SIGTERM').action(async ({ project }: ProjectOption) => {
  const { start } = await import('./start.js');
  await start(project);
});

command('check', 'report model and database side by side').action(async ({ project }: ProjectOption) => {
  const { check } = await import('./database.js');
  await check(project);
});

command('sync', 'add the tables, columns and indexes that the database lacks')
  .option('--dry-run', 'print the statements instead')
  .option('--publish-drafts <types...>', 'publish the drafts of types whose draftAndPublish was switched off', [])
  .action(
    async ({
      project,
      dryRun,
      publishDrafts,
    }: ProjectOption & { readonly dryRun?: boolean; readonly publishDrafts: readonly string[] }) => {
      const { sync } = await import('./database.js');
      await sync(project, { dryRun: dryRun === true, publishDrafts });
    },
  );

command('explain', 'print what a URL means and how it is fetched: selection, plan, statements')
  .argument('<url>', 'such as /api/articles?populate=*')
  .option('--as <caller>', 'role:TYPE or token:NAME, such as role:authenticated', 'role:public')
  .option('--json', 'as JSON')
  .action(
    async (url: string, { project, as, json }: ProjectOption & { readonly as: string; readonly json?: boolean }) => {
      const { explain } = await import('./explain.js');
      await explain(project, url, { as, json: json === true });
    },
  );

const token = program.command('token').description('API tokens');
command('create', 'make a token and print its key, once', token)
  .requiredOption('--type <type>', 'read-only, full-access or custom')
  .option('--expires <when>', '7d, 30d, 90d or never', 'never')
  .option('--name <name>', 'what the token is called', 'made on the command line')
  .option('--description <text>', 'what it is for', '')
  .option('--allow <actions...>', 'what a custom token may do, such as api::article.article.find', [])
  .action(async (options: TokenOptions) => {
    const { createTokenCommand } = await import('./account-commands.js');
    await createTokenCommand(options);
  });
command('list', 'print every token: id, type, expiry, last use, name', token).action(
  async ({ project }: ProjectOption) => {
    const { listTokensCommand } = await import('./account-commands.js');
    await listTokensCommand(project);
  },
);
command('revoke', 'delete a token; requests that carry it are refused within a second', token)
  .argument('<token>', 'its id or name, as token list prints them')
  .action(async (name: string, { project }: ProjectOption) => {
    const { revokeTokenCommand } = await import('./account-commands.js');
    await revokeTokenCommand(project, name);
  });

const user = program.command('user').description('users of the content API');
command('create', 'make a user; without --password one is made and printed', user)
  .requiredOption('--username <name>', 'at least 3 characters')
  .requiredOption('--email <address>', 'also identifies the user')
  .option('--password <text>', 'at least 6 characters')
  .option('--role <type>', 'the type of a role', 'authenticated')
  .action(async (options: UserOptions) => {
    const { createUserCommand } = await import('./account-commands.js');
    await createUserCommand(options);
  });
command('list', 'print every user: id, role, state, e-mail, name', user).action(async ({ project }: ProjectOption) => {
  const { listUsersCommand } = await import('./account-commands.js');
  await listUsersCommand(project);
});
for (const change of ['block', 'unblock'] as const)
  command(change, change === 'block' ? 'refuse a user at once, logged in or not' : 'let a user in again', user)
    .argument('<user>', 'the id, e-mail address or name')
    .action(async (name: string, { project }: ProjectOption) => {
      const { blockUserCommand } = await import('./account-commands.js');
      await blockUserCommand(project, name, change === 'block');
    });

const role = program.command('role').description('what roles may do');
for (const change of ['allow', 'deny'] as const)
  command(change, change === 'allow' ? 'give a role actions' : 'take actions from a role', role)
    .argument('<role>', 'its type, such as public')
    .argument('<actions...>', 'such as api::article.article.find')
    .action(async (type: string, actions: readonly string[], { project }: ProjectOption) => {
      const { changeRoleCommand } = await import('./account-commands.js');
      await changeRoleCommand(change, project, type, actions);
    });
command('list', 'print what every role may do, or one', role)
  .argument('[role]', 'its type, such as public')
  .action(async (type: string | undefined, { project }: ProjectOption) => {
    const { listRolesCommand } = await import('./account-commands.js');
    await listRolesCommand(project, type);
  });

try {
  await program.parseAsync();
} catch (fault) {
  // help and version end this way too, with 0
  if (fault instanceof CommanderError) process.exitCode = fault.exitCode === 0 ? 0 : 2;
  else if (fault instanceof StartFault || fault instanceof Refusal) {
    process.stderr.write(`${fault instanceof Refusal ? sayRefusal(fault) : fault.message}\n`);
    process.exitCode = 1;
  } else throw fault;
}
