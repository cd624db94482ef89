/**
 * The command line. Each command loads only its own code. Exit codes: 0 success, 1 failure, 2 usage error.
 */
import fs from 'node:fs';
import { constants, createRequire, enableCompileCache } from 'node:module';
import path from 'node:path';
import { Command, CommanderError, Help, InvalidArgumentError, Option } from 'commander';
import { Refusal } from '../errors.js';
import { limits } from '../limits.js';
import type { Asked } from '../migrate/asked.js';
import { isProjectFolder } from '../model/project-folder.js';
import type { TokenOptions, UserOptions } from './commands/accounts.js';
import type { AdminOptions } from './commands/admin.js';
import type { NewWebhookOptions } from './commands/webhook.js';
import type { Compiled } from './compiled.js';
import type { Choices } from './init/template.js';
import { refusalMessage } from './refusal.js';
import { boundGrowth } from './runtime.js';
import { isDiskFull, StartFault, UsageFault } from './start-fault.js';

const { version } = createRequire(import.meta.url)('dovetail/package.json') as { readonly version: string };

const program = new Command('dovetail')
  .description('A content API server: JSON schema files in, a fast and exact REST API out.')
  .version(version, '--version', 'print the version')
  .showHelpAfterError('Run the command with --help for usage.')
  .configureHelp({
    // that a list is empty by default goes without saying
    optionDescription: (option) => new Help().optionDescription(option).replace(/ \(default: \[\]\)$/, ''),
  })
  .exitOverride();

let isServing = false;
/** Set by `run`, before any command. */
let compiled: Compiled;
// the reader of a pipe may have seen enough, as in `dovetail explain … | head`; a server goes on when nobody reads its log
process.stdout.on('error', (fault: NodeJS.ErrnoException) => {
  if (fault.code === 'EPIPE') {
    if (!isServing) process.exit();
  } else if (isServing) throw fault;
  else fail(fault);
});

interface ProjectOption {
  readonly project: string;
}
/** v4 is started in the folder of its project, and code names files from there. */
const entered = (project: string): string => {
  const dir = path.resolve(project);
  if (fs.statSync(dir, { throwIfNoEntry: false })?.isDirectory()) process.chdir(dir);
  return dir;
};

/**
 * What V8 compiles stays in the project's folder for temporary files: the next start takes two fifths less CPU time. Not in that
 * of the system, where others could put code in its place. Nothing is kept where the folder cannot be written, nor what other
 * versions of Node.js have left: each has a folder of its own.
 */
const keepCompiled = (dir: string): void => {
  if (!isProjectFolder(dir)) return;
  const folder = path.join(dir, '.tmp/compiled');
  // where NODE_COMPILE_CACHE has named another folder, Node returns the subfolder for its version
  const { status, directory } = enableCompileCache(folder);
  if (directory === undefined) return;
  compiled.keepIn(status === constants.compileCacheStatus.ALREADY_ENABLED ? path.dirname(directory) : directory);
  try {
    for (const it of fs.readdirSync(folder))
      if (!it.startsWith(`${process.version}-`)) fs.rmSync(path.join(folder, it), { recursive: true, force: true });
  } catch {
    // it is not there, or cannot be written
  }
};

const command = (name: string, description: string, parent: Command = program): Command =>
  parent.command(name).description(description).option('--project <dir>', 'project folder', '.');

program
  .command('init')
  .description('create a project; prompts for whatever is not given')
  .argument('[name]', 'its folder, which must be new or empty')
  .option('--yes', 'use the defaults without asking: the blog template, in TypeScript')
  .addOption(new Option('--template <name>', 'template to start from').choices(['blog', 'empty']))
  .addOption(new Option('--language <name>', 'language of its handlers').choices(['typescript', 'javascript']))
  .option('--install', 'install its dependencies')
  .option('--no-install', 'do not install its dependencies')
  .action(async (dir: string | undefined, { yes = false, ...given }: Partial<Choices> & { readonly yes?: boolean }) => {
    const { init } = await import('./init/init.js');
    await init({ ...given, ...(dir === undefined ? {} : { dir }) }, yes);
  });
interface MigrateOptions {
  readonly out?: string | true;
  readonly check?: boolean;
  readonly json?: boolean;
}

const workersOf = (text: string): number => {
  const count = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= limits.workersMax) return count;
  throw new InvalidArgumentError(`Expected a number from 1 to ${limits.workersMax}.`);
};

command('start', 'serve a project at HOST and PORT (environment; 127.0.0.1:1337 by default) until it receives SIGTERM')
  .option(
    '--workers <count>',
    'number of processes that share the port, on PostgreSQL only; SIGHUP replaces them',
    workersOf,
    1,
  )
  .action(async ({ project, workers }: ProjectOption & { readonly workers: number }) => {
    isServing = true;
    // node:cluster starts each worker with the same arguments
    if (workers > 1 && (await import('node:cluster')).default.isPrimary) {
      const { supervise } = await import('./supervisor.js');
      await supervise(project, workers);
    } else {
      const dir = entered(project);
      keepCompiled(dir);
      const { start } = await import('./start.js');
      await start(dir);
      compiled.save();
      boundGrowth();
    }
  });

command('dev', 'serve a project at HOST and PORT, and apply each change to its files as soon as it is saved').action(
  async ({ project }: ProjectOption) => {
    isServing = true;
    const dir = entered(project);
    keepCompiled(dir);
    const { dev } = await import('./dev/dev.js');
    if (await dev(dir)) compiled.save();
  },
);

command('check', 'compare the model with the database')
  .option('--json', 'print JSON')
  .action(async ({ project, json }: ProjectOption & { readonly json?: boolean }) => {
    const { check } = await import('./commands/check.js');
    await check(project, { json: json === true });
  });

command('sync', 'add missing tables, columns and indexes to the database')
  .option('--dry-run', 'print the statements without running them')
  .option('--publish-drafts <types...>', 'publish the drafts of types whose draftAndPublish has been switched off', [])
  .action(
    async ({
      project,
      dryRun,
      publishDrafts,
    }: ProjectOption & { readonly dryRun?: boolean; readonly publishDrafts: readonly string[] }) => {
      const { sync } = await import('./commands/check.js');
      await sync(project, { dryRun: dryRun === true, publishDrafts });
    },
  );

const migrate = program
  .command('migrate')
  .description('plan and apply changes to the model that start does not apply by itself');
command('plan', 'compare the model with the database and report renames, changed types and leftovers', migrate)
  .option('--rename <old=new...>', 'attributes that were renamed, such as article.titel=title', [])
  .option('--rename-type <old=new...>', 'types whose uid has changed, such as api::post.post=api::article.article', [])
  .option('--convert <attributes...>', 'convert these attributes even if values are lost', [])
  .option('--drop <names...>', 'drop leftover attributes and types, such as article.legacy', [])
  .option('--drop-table <tables...>', 'drop leftover tables', [])
  .option('--out [file]', 'write the plan to a file, by default in database/plans of the project')
  .option('--check', 'exit with 1 if there is anything to do that start does not do by itself')
  .option('--json', 'print JSON')
  .action(async ({ project, out, check, json, ...asked }: ProjectOption & Asked & MigrateOptions) => {
    const { planMigration } = await import('./commands/migrate.js');
    await planMigration(project, {
      asked,
      out: out === true ? '' : (out ?? null),
      check: check === true,
      json: json === true,
    });
  });
command('apply', 'apply the given plans, or all plans of the project that have not been applied yet', migrate)
  .argument('[files...]', 'such as database/plans/20261122-093000-rename.json')
  .option('--force', 'apply even while a server is using the database')
  .action(async (files: readonly string[], { project, force }: ProjectOption & { readonly force?: boolean }) => {
    const { applyMigration } = await import('./commands/migrate.js');
    await applyMigration(project, files, { force: force === true });
  });

command('explain', 'print the selection, plan and SQL statements of a URL, and what each statement reads')
  .argument('<url>', 'such as /api/articles?populate=*')
  .option('--as <caller>', 'whose permissions apply: role:TYPE or token:NAME', 'role:public')
  .option('--analyze', 'run the statements too, and print row counts and times')
  .option('--json', 'print JSON')
  .action(
    async (
      url: string,
      {
        project,
        as,
        json,
        analyze,
      }: ProjectOption & { readonly as: string; readonly json?: boolean; readonly analyze?: boolean },
    ) => {
      const { explain } = await import('./commands/explain.js');
      await explain(project, url, { as, json: json === true, analyze: analyze === true });
    },
  );

command('types', 'print TypeScript types of the model, for dovetail-client')
  .option('--out <file>', 'write them to a file instead')
  .option('--check', 'only compare the file with the model; exit with 1 if they differ')
  .action(async ({ project, out, check }: ProjectOption & { readonly out?: string; readonly check?: boolean }) => {
    if (check && out === undefined) throw new UsageFault('--check needs --out.');
    const { types } = await import('./commands/types.js');
    await types(project, { out: out ?? null, check: check === true });
  });

program
  .command('adopt')
  .description('inspect a v4 project and its database, changing nothing, and report what serving it would involve')
  .argument('[dir]', 'project folder', '.')
  .option('--env <name>', 'NODE_ENV of the v4 server, which selects config/env/<name>')
  .option('--database <place>', 'SQLite file or postgres:// URL to inspect instead of the configured database')
  .option('--urls <file>', 'check the requests in an access log; - for standard input')
  .option('--json', 'print JSON')
  .action(
    async (
      dir: string,
      {
        env,
        database,
        urls,
        json,
      }: {
        readonly env?: string;
        readonly database?: string;
        readonly urls?: string;
        readonly json?: boolean;
      },
    ) => {
      const { adopt } = await import('./adopt/adopt.js');
      await adopt(dir, {
        environment: env ?? null,
        database: database ?? null,
        urls: urls ?? null,
        json: json === true,
      });
    },
  );
command('backup', 'copy the SQLite database while the server runs; for PostgreSQL, print the command to run')
  .option('--out <file>', 'file to write; by default named after the current time, in the project folder')
  .option('--uploads', 'copy the uploads folder too, to FILE.uploads')
  .action(async ({ project, out, uploads }: ProjectOption & { readonly out?: string; readonly uploads?: boolean }) => {
    const { backup } = await import('./backup/backup.js');
    await backup(project, { out: out ?? null, uploads: uploads === true });
  });
command('restore', 'restore a backup, with its uploads if it has any; the server must be stopped')
  .argument('<file>', 'file written by backup')
  .option('--force', 'replace existing data, which is kept under another name')
  .action(async (file: string, { project, force }: ProjectOption & { readonly force?: boolean }) => {
    const { restore } = await import('./backup/restore.js');
    await restore(project, file, { force: force === true });
  });

command('export', 'write content as lines of JSON, to be imported into SQLite or PostgreSQL')
  .argument('<file>', 'file to write; - for standard output')
  .option('--users', 'include users, roles and permissions')
  .option('--all', 'include everything, administrators, tokens and settings too')
  .action(
    async (
      file: string,
      { project, users, all }: ProjectOption & { readonly users?: boolean; readonly all?: boolean },
    ) => {
      const { exportContent } = await import('./transfer/export.js');
      await exportContent(project, file, { scope: all ? 'all' : users ? 'users' : 'content' });
    },
  );
command('import', 'import an export into a database with the same model, all of it or nothing')
  .argument('<file>', 'file to read; - for standard input')
  .option('--replace', 'delete existing content first')
  .action(async (file: string, { project, replace }: ProjectOption & { readonly replace?: boolean }) => {
    const { importContent } = await import('./transfer/import.js');
    await importContent(project, file, { replace: replace === true });
  });

const token = program.command('token').description('API tokens');
command('create', 'create a token and print its key, which is shown only once', token)
  .requiredOption('--type <type>', 'read-only, full-access or custom')
  .option('--expires <when>', 'lifetime: 7d, 30d, 90d or never', 'never')
  .option('--name <name>', 'name of the token', 'made on the command line')
  .option('--description <text>', 'purpose of the token', '')
  .option('--allow <actions...>', 'actions that a custom token allows, such as api::article.article.find', [])
  .action(async (options: TokenOptions) => {
    const { createTokenCommand } = await import('./commands/accounts.js');
    await createTokenCommand(options);
  });
command('list', 'list all tokens: id, type, expiry, last use, name', token).action(
  async ({ project }: ProjectOption) => {
    const { listTokensCommand } = await import('./commands/accounts.js');
    await listTokensCommand(project);
  },
);
command('revoke', 'delete a token; requests that use it are refused within a second', token)
  .argument('<token>', 'id or name, as shown by token list')
  .action(async (name: string, { project }: ProjectOption) => {
    const { revokeTokenCommand } = await import('./commands/accounts.js');
    await revokeTokenCommand(project, name);
  });

const user = program.command('user').description('users of the content API');
command('create', 'create a user; without --password, one is generated and printed', user)
  .requiredOption('--username <name>', 'at least 3 characters')
  .requiredOption('--email <address>', 'e-mail address, with which the user can log in too')
  .option('--password <text>', 'at least 6 characters')
  .option('--role <type>', 'type of the role', 'authenticated')
  .action(async (options: UserOptions) => {
    const { createUserCommand } = await import('./commands/accounts.js');
    await createUserCommand(options);
  });
command('list', 'list all users: id, role, state, e-mail, name', user).action(async ({ project }: ProjectOption) => {
  const { listUsersCommand } = await import('./commands/accounts.js');
  await listUsersCommand(project);
});
for (const change of ['block', 'unblock'] as const)
  command(change, change === 'block' ? 'block a user immediately, even if logged in' : 'unblock a user', user)
    .argument('<user>', 'id, e-mail address or name')
    .action(async (name: string, { project }: ProjectOption) => {
      const { blockUserCommand } = await import('./commands/accounts.js');
      await blockUserCommand(project, name, change === 'block');
    });

const admin = program.command('admin').description('administrators, who sign in to the Studio');
command('create', 'create an administrator; without --password, one is generated and printed', admin)
  .requiredOption('--email <address>', 'e-mail address to sign in with')
  .option('--firstname <name>', 'first name, shown with entries they create')
  .option('--lastname <name>', 'last name, shown with entries they create')
  .option('--password <text>', 'at least 8 characters')
  .option('--role <code>', 'super-admin, editor, author, or the code of another role', 'super-admin')
  .action(async (options: AdminOptions) => {
    const { createAdminCommand } = await import('./commands/admin.js');
    await createAdminCommand(options);
  });
command('list', 'list all administrators: id, roles, state, e-mail, name', admin).action(
  async ({ project }: ProjectOption) => {
    const { listAdminsCommand } = await import('./commands/admin.js');
    await listAdminsCommand(project);
  },
);
for (const change of ['block', 'unblock'] as const)
  command(
    change,
    change === 'block' ? 'block an administrator immediately, even if signed in' : 'unblock an administrator',
    admin,
  )
    .argument('<admin>', 'id or e-mail address')
    .action(async (name: string, { project }: ProjectOption) => {
      const { blockAdminCommand } = await import('./commands/admin.js');
      await blockAdminCommand(project, name, change === 'block');
    });
command(
  'password',
  'set the password of an administrator and end their sessions; without --password, one is generated and printed',
  admin,
)
  .argument('<admin>', 'id or e-mail address')
  .option('--password <text>', 'at least 8 characters')
  .action(async (name: string, { project, password }: ProjectOption & { readonly password?: string }) => {
    const { setAdminPasswordCommand } = await import('./commands/admin.js');
    await setAdminPasswordCommand(project, name, password);
  });

command('link', 'print a one-time link with which an administrator chooses a password', admin)
  .argument('<admin>', 'id or e-mail address')
  .action(async (name: string, { project }: ProjectOption) => {
    const { linkAdminCommand } = await import('./commands/admin.js');
    await linkAdminCommand(project, name);
  });

const role = program.command('role').description('permissions of roles');
for (const change of ['allow', 'deny'] as const)
  command(change, change === 'allow' ? 'grant actions to a role' : 'revoke actions from a role', role)
    .argument('<role>', 'type of the role, such as public')
    .argument('<actions...>', 'actions, such as api::article.article.find')
    .action(async (type: string, actions: readonly string[], { project }: ProjectOption) => {
      const { changeRoleCommand } = await import('./commands/accounts.js');
      await changeRoleCommand(change, project, type, actions);
    });
command('list', 'list the actions that each role allows, or those of one role', role)
  .argument('[role]', 'type of the role, such as public')
  .action(async (type: string | undefined, { project }: ProjectOption) => {
    const { listRolesCommand } = await import('./commands/accounts.js');
    await listRolesCommand(project, type);
  });

const locale = program.command('locale').description('locales of localized types');
command('list', 'list all locales: code, whether it is the default, name', locale)
  .option('--json', 'print JSON')
  .action(async ({ project, json }: ProjectOption & { readonly json?: boolean }) => {
    const { listLocalesCommand } = await import('./commands/locale.js');
    await listLocalesCommand({ project, json: json === true });
  });
command('add', 'add a locale', locale)
  .argument('<code>', 'such as de or pt-BR')
  .option('--name <name>', 'name shown by v4\'s admin panel (default: language and code, such as "German (de)")')
  .action(async (code: string, options: ProjectOption & { readonly name?: string }) => {
    const { addLocaleCommand } = await import('./commands/locale.js');
    await addLocaleCommand(code, options);
  });
command('remove', 'remove a locale that is not the default', locale)
  .argument('<code>', 'as shown by locale list')
  .option('--delete-entries', 'delete its entries too')
  .action(async (code: string, { project, deleteEntries }: ProjectOption & { readonly deleteEntries?: boolean }) => {
    const { removeLocaleCommand } = await import('./commands/locale.js');
    await removeLocaleCommand(code, { project, deleteEntries: deleteEntries === true });
  });
command('default', 'make a locale the default', locale)
  .argument('<code>', 'as shown by locale list')
  .action(async (code: string, options: ProjectOption) => {
    const { defaultLocaleCommand } = await import('./commands/locale.js');
    await defaultLocaleCommand(code, options);
  });

const idOf = (text: string): number => {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected an id, as shown by webhook list or webhook deliveries.');
};
const webhook = program.command('webhook').description('webhooks, which are notified of changes to entries and files');
command('list', 'list all webhooks: id, state, deliveries, events, URL, name', webhook)
  .option('--json', 'print JSON')
  .action(async ({ project, json }: ProjectOption & { readonly json?: boolean }) => {
    const { listWebhooksCommand } = await import('./commands/webhook.js');
    await listWebhooksCommand({ project, json: json === true });
  });
command('add', 'add a webhook and print its id', webhook)
  .argument('<url>', 'URL that receives the events')
  .requiredOption('--events <events...>', 'events to send, such as entry.create entry.update, or all')
  .option('--name <name>', 'name in lists; by default the host of the URL')
  .option('--header <headers...>', "headers to send with each event, such as 'Authorization: Bearer …'", [])
  .action(async (url: string, options: NewWebhookOptions) => {
    const { addWebhookCommand } = await import('./commands/webhook.js');
    await addWebhookCommand(url, options);
  });
command('remove', 'remove a webhook and its deliveries', webhook)
  .argument('<id>', 'as shown by webhook list', idOf)
  .action(async (id: number, { project }: ProjectOption) => {
    const { removeWebhookCommand } = await import('./commands/webhook.js');
    await removeWebhookCommand(project, id);
  });
for (const change of ['enable', 'disable'] as const)
  command(
    change,
    change === 'enable'
      ? 'send events to a webhook again'
      : 'stop sending events to a webhook; its pending deliveries wait',
    webhook,
  )
    .argument('<id>', 'as shown by webhook list', idOf)
    .action(async (id: number, { project }: ProjectOption) => {
      const { enableWebhookCommand } = await import('./commands/webhook.js');
      await enableWebhookCommand(project, id, change === 'enable');
    });
command('test', 'send the event trigger-test to a webhook now, and print the response', webhook)
  .argument('<id>', 'as shown by webhook list', idOf)
  .action(async (id: number, { project }: ProjectOption) => {
    const { testWebhookCommand } = await import('./commands/webhook.js');
    await testWebhookCommand(project, id);
  });
command('deliveries', 'list the deliveries that are waiting or were given up', webhook)
  .option('--webhook <id>', 'only those of this webhook', idOf)
  .option('--json', 'print JSON')
  .action(
    async ({ project, webhook: of, json }: ProjectOption & { readonly webhook?: number; readonly json?: boolean }) => {
      const { listDeliveriesCommand } = await import('./commands/webhook.js');
      await listDeliveriesCommand({ project, webhook: of ?? null, json: json === true });
    },
  );
command('retry', 'resend deliveries that were given up', webhook)
  .argument('[ids...]', 'as shown by webhook deliveries; all by default', (text: string, before: number[] = []) => [
    ...before,
    idOf(text),
  ])
  .action(async (ids: readonly number[] | undefined, { project }: ProjectOption) => {
    const { retryDeliveriesCommand } = await import('./commands/webhook.js');
    await retryDeliveriesCommand(project, ids === undefined || ids.length === 0 ? null : ids);
  });

/** Says why the command has failed; a bug is thrown again, for its stack. */
const fail = (fault: unknown): void => {
  // --help and --version also end up here, with 0
  if (fault instanceof CommanderError) process.exitCode = fault.exitCode === 0 ? 0 : 2;
  else if (fault instanceof StartFault || fault instanceof Refusal) {
    process.stderr.write(`${fault instanceof Refusal ? refusalMessage(fault) : fault.message}\n`);
    process.exitCode = fault instanceof UsageFault ? 2 : 1;
    // the channel to its supervisor would keep a worker alive
    process.channel?.unref();
    // and so would what the code of the project has begun, such as a timer
    if (isServing) process.exit();
  } else if (isDiskFull(fault)) {
    process.stderr.write(`The disk is full: ${(fault as Error).message}\nFree some space and run the command again.\n`);
    process.exit(1);
  } else if (isRefusedPlace(fault as NodeJS.ErrnoException)) {
    process.stderr.write(`The file system refuses a file or folder: ${(fault as Error).message}\n`);
    process.exit(1);
  } else throw fault;
};

/** Codes of the system. */
const refusedPlace: ReadonlySet<string | undefined> = new Set([
  'EACCES',
  'EPERM',
  'EROFS',
  'ENOTDIR',
  'EISDIR',
  'EEXIST',
]);

/** A file that is missing while the server runs is a bug; elsewhere it is one that cannot be made, as below /proc. */
const isRefusedPlace = ({ code, path: place }: NodeJS.ErrnoException): boolean =>
  place !== undefined && (refusedPlace.has(code) || (code === 'ENOENT' && !isServing));

/** Runs the command of `process.argv`. @param given keeps what V8 compiles of the bundle. */
export const run = async (given: Compiled): Promise<void> => {
  compiled = given;
  try {
    await program.parseAsync();
  } catch (fault) {
    fail(fault);
  }
  // what modules of a project have begun, such as a timer, would keep a command alive
  if (!isServing) process.stdout.write('', () => process.exit());
};
