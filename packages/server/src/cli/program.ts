/**
 * The command line. Each command loads only its own code. Exit codes: 0 success, 1 failure, 2 usage error.
 */
import { createRequire } from 'node:module';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { Refusal } from '../errors.js';
import { limits } from '../limits.js';
import type { Asked } from '../migrate/asked.js';
import type { TokenOptions, UserOptions } from './account-commands.js';
import { StartFault, UsageFault } from './config.js';
import type { Choices } from './init/template.js';
import { refusalMessage } from './refusal.js';
import type { NewWebhookOptions } from './webhook-commands.js';

const { version } = createRequire(import.meta.url)('dovetail/package.json') as { readonly version: string };

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

program
  .command('init')
  .description('make a new project; asks for what is not given')
  .argument('[name]', 'its folder, new or empty')
  .option('--yes', 'take the defaults instead of asking: the template blog, TypeScript')
  .addOption(new Option('--template <name>', 'what it begins with').choices(['blog', 'empty']))
  .addOption(new Option('--language <name>', 'of its handlers').choices(['typescript', 'javascript']))
  .option('--install', 'install the dependencies')
  .option('--no-install', 'leave that to you')
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

command('start', 'serve a project until SIGTERM')
  .option('--workers <count>', 'processes that serve the port, on PostgreSQL; SIGHUP replaces them', workersOf, 1)
  .action(async ({ project, workers }: ProjectOption & { readonly workers: number }) => {
    // node:cluster starts each worker with the same arguments
    if (workers > 1 && (await import('node:cluster')).default.isPrimary) {
      const { supervise } = await import('./supervisor.js');
      await supervise(project, workers);
    } else {
      const { start } = await import('./start.js');
      await start(project);
    }
  });

command('dev', 'serve a project and follow its files: every change is live when it is saved').action(
  async ({ project }: ProjectOption) => {
    const { dev } = await import('./dev/dev.js');
    await dev(project);
  },
);

command('check', 'compare model and database')
  .option('--json', 'as JSON')
  .action(async ({ project, json }: ProjectOption & { readonly json?: boolean }) => {
    const { check } = await import('./database.js');
    await check(project, { json: json === true });
  });

command('sync', 'add the tables, columns and indexes that the database lacks')
  .option('--dry-run', 'print the statements without running them')
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

const migrate = program.command('migrate').description('changes of the model that a start does not make by itself');
command('plan', 'compare model and database, and say what was renamed, changes its type or is left over', migrate)
  .option('--rename <old=new...>', 'attributes that got another name, such as article.titel=title', [])
  .option('--rename-type <old=new...>', 'types that got another uid, such as api::post.post=api::article.article', [])
  .option('--convert <attributes...>', 'convert attributes even if values are lost', [])
  .option('--drop <names...>', 'drop left-over attributes and types, such as article.legacy', [])
  .option('--drop-table <tables...>', 'drop left-over tables', [])
  .option('--out [file]', 'write the plan, below database/plans of the project by default')
  .option('--check', 'exit code 1 if there is something to do that a start does not do by itself')
  .option('--json', 'as JSON')
  .action(async ({ project, out, check, json, ...asked }: ProjectOption & Asked & MigrateOptions) => {
    const { planMigration } = await import('./migrate.js');
    await planMigration(project, {
      asked,
      out: out === true ? '' : (out ?? null),
      check: check === true,
      json: json === true,
    });
  });
command('apply', 'apply plans: the given files, or all of the project that the database has not been through', migrate)
  .argument('[files...]', 'such as database/plans/20261122-093000-rename.json')
  .option('--force', 'also while a server uses the database')
  .action(async (files: readonly string[], { project, force }: ProjectOption & { readonly force?: boolean }) => {
    const { applyMigration } = await import('./migrate.js');
    await applyMigration(project, files, { force: force === true });
  });

command('explain', 'print the selection, plan and statements of a URL, and what they read')
  .argument('<url>', 'such as /api/articles?populate=*')
  .option('--as <caller>', 'role:TYPE or token:NAME, such as role:authenticated', 'role:public')
  .option('--analyze', 'run the statements too, and print their rows and times')
  .option('--json', 'as JSON')
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
      const { explain } = await import('./explain.js');
      await explain(project, url, { as, json: json === true, analyze: analyze === true });
    },
  );

command('types', 'print the TypeScript types of the model, for dovetail-client')
  .option('--out <file>', 'write them to a file instead')
  .option('--check', 'only compare the file with the model; exit code 1 if they differ')
  .action(async ({ project, out, check }: ProjectOption & { readonly out?: string; readonly check?: boolean }) => {
    if (check && out === undefined) throw new UsageFault('--check needs --out.');
    const { types } = await import('./types.js');
    await types(project, { out: out ?? null, check: check === true });
  });

program
  .command('adopt')
  .description('look at a v4 project and its database, change nothing, and report what serving it would mean')
  .argument('[dir]', "the project's folder", '.')
  .option('--env <name>', 'NODE_ENV of v4, which selects config/env/<name>')
  .option('--database <place>', 'a SQLite file or postgres:// URL, instead of what the project says')
  .option('--urls <file>', 'judge the request lines of an access log; - for stdin')
  .option('--json', 'as JSON')
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
command('backup', 'copy the SQLite file while the server runs; of PostgreSQL print the command that does it')
  .option('--out <file>', 'the copy; named by the time in the project folder without it')
  .option('--uploads', 'copy the folder of uploads too, to FILE.uploads')
  .action(async ({ project, out, uploads }: ProjectOption & { readonly out?: string; readonly uploads?: boolean }) => {
    const { backup } = await import('./backup.js');
    await backup(project, { out: out ?? null, uploads: uploads === true });
  });
command('restore', 'put a backup in place, with its uploads if it has any; the server must be stopped')
  .argument('<file>', 'as backup wrote it')
  .option('--force', 'replace what is there, which is kept under another name')
  .action(async (file: string, { project, force }: ProjectOption & { readonly force?: boolean }) => {
    const { restore } = await import('./backup.js');
    await restore(project, file, { force: force === true });
  });

command('export', 'write content as lines of JSON, for another database of either kind')
  .argument('<file>', '- for standard output')
  .option('--users', 'users, roles and permissions too')
  .option('--all', 'everything: also administrators, tokens and settings')
  .action(
    async (
      file: string,
      { project, users, all }: ProjectOption & { readonly users?: boolean; readonly all?: boolean },
    ) => {
      const { exportContent } = await import('./transfer/export.js');
      await exportContent(project, file, { scope: all ? 'all' : users ? 'users' : 'content' });
    },
  );
command('import', 'put an export into a database with the same model, whole or not at all')
  .argument('<file>', '- for standard input')
  .option('--replace', 'delete the content that is there')
  .action(async (file: string, { project, replace }: ProjectOption & { readonly replace?: boolean }) => {
    const { importContent } = await import('./transfer/import.js');
    await importContent(project, file, { replace: replace === true });
  });

const token = program.command('token').description('API tokens');
command('create', 'create a token and print its key, once', token)
  .requiredOption('--type <type>', 'read-only, full-access or custom')
  .option('--expires <when>', '7d, 30d, 90d or never', 'never')
  .option('--name <name>', 'name of the token', 'made on the command line')
  .option('--description <text>', 'purpose of the token', '')
  .option('--allow <actions...>', 'actions of a custom token, such as api::article.article.find', [])
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
command('revoke', 'delete a token; requests that use it are refused within a second', token)
  .argument('<token>', 'id or name, as printed by token list')
  .action(async (name: string, { project }: ProjectOption) => {
    const { revokeTokenCommand } = await import('./account-commands.js');
    await revokeTokenCommand(project, name);
  });

const user = program.command('user').description('users of the content API');
command('create', 'create a user; without --password one is generated and printed', user)
  .requiredOption('--username <name>', 'at least 3 characters')
  .requiredOption('--email <address>', 'also identifies the user')
  .option('--password <text>', 'at least 6 characters')
  .option('--role <type>', 'type of the role', 'authenticated')
  .action(async (options: UserOptions) => {
    const { createUserCommand } = await import('./account-commands.js');
    await createUserCommand(options);
  });
command('list', 'print every user: id, role, state, e-mail, name', user).action(async ({ project }: ProjectOption) => {
  const { listUsersCommand } = await import('./account-commands.js');
  await listUsersCommand(project);
});
for (const change of ['block', 'unblock'] as const)
  command(change, change === 'block' ? 'block a user at once, even if logged in' : 'unblock a user', user)
    .argument('<user>', 'id, e-mail address or name')
    .action(async (name: string, { project }: ProjectOption) => {
      const { blockUserCommand } = await import('./account-commands.js');
      await blockUserCommand(project, name, change === 'block');
    });

const role = program.command('role').description('permissions of roles');
for (const change of ['allow', 'deny'] as const)
  command(change, change === 'allow' ? 'grant actions to a role' : 'revoke actions from a role', role)
    .argument('<role>', 'its type, such as public')
    .argument('<actions...>', 'such as api::article.article.find')
    .action(async (type: string, actions: readonly string[], { project }: ProjectOption) => {
      const { changeRoleCommand } = await import('./account-commands.js');
      await changeRoleCommand(change, project, type, actions);
    });
command('list', 'print the actions of every role, or of one', role)
  .argument('[role]', 'its type, such as public')
  .action(async (type: string | undefined, { project }: ProjectOption) => {
    const { listRolesCommand } = await import('./account-commands.js');
    await listRolesCommand(project, type);
  });

// the reader of a pipe may have seen enough, as in `dovetail explain … | head`
process.stdout.on('error', (fault: NodeJS.ErrnoException) => {
  if (fault.code !== 'EPIPE') throw fault;
  process.exit();
});

const locale = program.command('locale').description('locales of localized types');
command('list', 'print every locale: code, whether it is the default, name', locale)
  .option('--json', 'as JSON')
  .action(async ({ project, json }: ProjectOption & { readonly json?: boolean }) => {
    const { listLocalesCommand } = await import('./locale-commands.js');
    await listLocalesCommand({ project, json: json === true });
  });
command('add', 'add a locale', locale)
  .argument('<code>', 'such as de or pt-BR')
  .option('--name <name>', "how v4's admin panel shows it; German (de) by default")
  .action(async (code: string, options: ProjectOption & { readonly name?: string }) => {
    const { addLocaleCommand } = await import('./locale-commands.js');
    await addLocaleCommand(code, options);
  });
command('remove', 'remove a locale that is not the default', locale)
  .argument('<code>', 'as printed by locale list')
  .option('--delete-entries', 'delete its entries too')
  .action(async (code: string, { project, deleteEntries }: ProjectOption & { readonly deleteEntries?: boolean }) => {
    const { removeLocaleCommand } = await import('./locale-commands.js');
    await removeLocaleCommand(code, { project, deleteEntries: deleteEntries === true });
  });
command('default', 'make a locale the default', locale)
  .argument('<code>', 'as printed by locale list')
  .action(async (code: string, options: ProjectOption) => {
    const { defaultLocaleCommand } = await import('./locale-commands.js');
    await defaultLocaleCommand(code, options);
  });

const idOf = (text: string): number => {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected an id, as printed by webhook list or webhook deliveries.');
};
const webhook = program.command('webhook').description('webhooks, which are told of changes of entries and files');
command('list', 'print every webhook: id, state, deliveries, events, URL, name', webhook)
  .option('--json', 'as JSON')
  .action(async ({ project, json }: ProjectOption & { readonly json?: boolean }) => {
    const { listWebhooksCommand } = await import('./webhook-commands.js');
    await listWebhooksCommand({ project, json: json === true });
  });
command('add', 'add a webhook and print its id', webhook)
  .argument('<url>', 'where to send events')
  .requiredOption('--events <events...>', 'such as entry.create entry.update, or all')
  .option('--name <name>', "how it is listed; the URL's host by default")
  .option('--header <headers...>', "sent with each event: 'Authorization: Bearer …'", [])
  .action(async (url: string, options: NewWebhookOptions) => {
    const { addWebhookCommand } = await import('./webhook-commands.js');
    await addWebhookCommand(url, options);
  });
command('remove', 'remove a webhook and its deliveries', webhook)
  .argument('<id>', 'as printed by webhook list', idOf)
  .action(async (id: number, { project }: ProjectOption) => {
    const { removeWebhookCommand } = await import('./webhook-commands.js');
    await removeWebhookCommand(project, id);
  });
for (const change of ['enable', 'disable'] as const)
  command(
    change,
    change === 'enable' ? 'tell a webhook of events again' : 'tell it of none; its deliveries wait',
    webhook,
  )
    .argument('<id>', 'as printed by webhook list', idOf)
    .action(async (id: number, { project }: ProjectOption) => {
      const { enableWebhookCommand } = await import('./webhook-commands.js');
      await enableWebhookCommand(project, id, change === 'enable');
    });
command('test', 'send the event trigger-test to a webhook now, and print what it answers', webhook)
  .argument('<id>', 'as printed by webhook list', idOf)
  .action(async (id: number, { project }: ProjectOption) => {
    const { testWebhookCommand } = await import('./webhook-commands.js');
    await testWebhookCommand(project, id);
  });
command('deliveries', 'print the deliveries that are waiting or were given up', webhook)
  .option('--webhook <id>', 'of this one only', idOf)
  .option('--json', 'as JSON')
  .action(
    async ({ project, webhook: of, json }: ProjectOption & { readonly webhook?: number; readonly json?: boolean }) => {
      const { listDeliveriesCommand } = await import('./webhook-commands.js');
      await listDeliveriesCommand({ project, webhook: of ?? null, json: json === true });
    },
  );
command('retry', 'send deliveries that were given up again', webhook)
  .argument('[ids...]', 'as printed by webhook deliveries; all by default', (text: string, before: number[] = []) => [
    ...before,
    idOf(text),
  ])
  .action(async (ids: readonly number[] | undefined, { project }: ProjectOption) => {
    const { retryDeliveriesCommand } = await import('./webhook-commands.js');
    await retryDeliveriesCommand(project, ids === undefined || ids.length === 0 ? null : ids);
  });

try {
  await program.parseAsync();
} catch (fault) {
  // --help and --version also end up here, with 0
  if (fault instanceof CommanderError) process.exitCode = fault.exitCode === 0 ? 0 : 2;
  else if (fault instanceof StartFault || fault instanceof Refusal) {
    process.stderr.write(`${fault instanceof Refusal ? refusalMessage(fault) : fault.message}\n`);
    process.exitCode = fault instanceof UsageFault ? 2 : 1;
    // the channel to its supervisor would keep a worker alive
    process.channel?.unref();
  } else throw fault;
}
