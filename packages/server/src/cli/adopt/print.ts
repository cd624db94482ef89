/** The report for people: headings and aligned lists, coloured on a terminal only. */
import path from 'node:path';
import { styleText } from 'node:util';
import { formatNote } from '../../model/load.js';
import { asGenerated } from '../v4project/code.js';
import type { AdoptReport, CodeFact, ContentFacts, Hazard, Setting, StartFacts } from './report.js';
import type { RefusedGroup } from './requests.js';
import { counted } from './words.js';

type Style = Parameters<typeof styleText>[0];
interface Paper {
  readonly paint: (style: Style, text: string) => string;
  /** Characters in a line. */
  readonly width: number;
}

export const printReport = (report: AdoptReport, stream: NodeJS.WriteStream): string => {
  const paper: Paper = {
    // looks at NO_COLOR, FORCE_COLOR and whether the stream is a terminal
    paint: (style, text) => styleText(style, text, { stream }),
    width: Math.min(stream.isTTY ? stream.columns || 100 : 100, 120),
  };
  const parts = [
    head(report, paper),
    obstacles(report, paper),
    report.content ? contents(report.content, paper) : '',
    servedPart(report, paper),
    code(report, paper),
    settings(report.settings, paper),
    hazards(report, paper),
    differences(report, paper),
    requests(report, paper),
    report.start ? startPart(report.start, report.project.dir, paper) : '',
    serve(report, paper),
    verdict(report, paper),
  ];
  return `${parts.filter((it) => it !== '').join('\n')}\n`;
};

// ---- forms

/** A title and lines, below an empty line unless it is the first section; empty without lines. */
const section = (title: string, lines: readonly string[], { paint }: Paper): string =>
  lines.length === 0
    ? ''
    : `${title.startsWith('\n') ? '\n' : ''}${paint('bold', title.trimStart())}\n${lines.join('\n')}`;

/** Wraps a text, every line of it behind the given number of blanks. */
const wrapped = (text: string, indent: number, { width }: Paper): string => {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && indent + line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  lines.push(line);
  return lines.map((it) => ' '.repeat(indent) + it).join('\n');
};

/** Wraps between the items only. */
const listed = (items: readonly string[], indent: number, paper: Paper): string =>
  wrapped(items.map((it) => it.replaceAll(' ', '\u00a0')).join(', '), indent, paper).replaceAll('\u00a0', ' ');

const table = (rows: readonly (readonly string[])[]): readonly string[] => {
  const widths = rows.reduce<number[]>((all, row) => row.map((it, i) => Math.max(all[i] ?? 0, it.length)), []);
  const isNumber = widths.map((_, i) => rows.slice(1).every((row) => /^[\d,]*$/.test(row[i] ?? '')));
  return rows.map(
    (row) =>
      '  ' +
      row
        .map((it, i) => (isNumber[i] ? it.padStart(widths[i]!) : it.padEnd(widths[i]!)))
        .join('  ')
        .trimEnd(),
  );
};

const number = (value: number | null): string => (value === null ? '-' : value.toLocaleString('en'));
const size = (bytes: number): string => {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB'];
  let [value, unit] = [bytes, 0];
  for (; value >= 1000 && unit < units.length - 1; unit++) value /= 1000;
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
};
const shown = (value: unknown): string => (value === undefined ? 'not set' : JSON.stringify(value));

// ---- parts

const head = ({ project, database, configFaults, schemaWarnings }: AdoptReport, paper: Paper): string => {
  const { strapi } = project;
  const sources = { installed: 'installed', 'lock file': 'by its lock file', 'package.json': 'by package.json' };
  const rows = [
    ['project', `${project.dir}${project.name === null ? '' : ` (${project.name})`}`],
    ['Strapi', strapi === null ? 'unknown' : `${strapi.version}, ${sources[strapi.from]}; ${project.language}`],
    [
      'settings',
      `of NODE_ENV=${project.environment}${project.environments
        .filter((it) => it !== project.environment)
        .map((it) => `; --env ${it} reads config/env/${it}`)
        .join('')}`,
    ],
    ...(database === null
      ? []
      : [
          ['database', database.place],
          [
            '',
            `${database.version}, ${size(database.bytes)}, ${counted(database.tables, 'table')}, from ${database.from}${database.variables.length === 0 ? '' : ` by ${database.variables.join(', ')}`}`,
          ],
          ...(database.lastSync === null
            ? []
            : [['', `v4 last changed its tables on ${database.lastSync.slice(0, 10)}`]]),
        ]),
  ];
  const notes = schemaWarnings.map((it) => wrapped(`${formatNote(it)}`, 2, paper));
  return [
    section('Where things are', table(rows), paper),
    ...(configFaults.length === 0
      ? []
      : [
          section(
            '\nConfiguration that cannot be evaluated, so that what it says is unknown',
            configFaults.map((it) => paper.paint('yellow', wrapped(it, 2, paper))),
            paper,
          ),
        ]),
    ...(notes.length === 0 ? [] : [section('\nSchema files, read as v4 reads them', notes, paper)]),
  ].join('\n');
};

const obstacles = ({ obstacles: found }: AdoptReport, paper: Paper): string =>
  section(
    '\nIn the way',
    found.map(({ message, cure }) => `${paper.paint('red', wrapped(message, 2, paper))}\n${wrapped(cure, 4, paper)}`),
    paper,
  );

const contents = (content: ContentFacts, paper: Paper): string => {
  const { types, components, zones, media, locales, roles, tokens } = content;
  const byLocale = (it: ContentFacts['types'][number]): string =>
    it.locales === null
      ? ''
      : Object.entries(it.locales)
          .map(([code, count]) => `${code === 'null' ? 'none' : code} ${number(count)}`)
          .join(', ');
  const typeRows = [
    ['type', 'entries', 'published', 'drafts', 'locales'],
    ...types.map((it) => [
      it.kind === 'single' ? `${it.uid} (single)` : it.uid,
      number(it.entries),
      it.draftAndPublish ? number(it.published) : '',
      it.draftAndPublish ? number(it.drafts) : '',
      byLocale(it),
    ]),
  ];
  const componentRows = [
    ['component', 'rows', 'used by'],
    ...components.map((it) => [it.uid, number(it.rows), it.usedBy.join(', ') || 'nothing']),
  ];
  const providers = Object.entries(media.providers).map(([name, count]) => `${name} ${number(count)}`);
  const facts = [
    ...(zones.length === 0
      ? []
      : [['zones', zones.map((it) => `${it.type}.${it.attribute} (${it.components.length})`).join(', ')]]),
    [
      'media',
      media.files === 0
        ? 'none'
        : `${counted(media.files, 'file')}, ${size(media.bytes)}; ${providers.join(', ')}${media.missing.count > 0 ? `; ${number(media.missing.count)} not on the disk` : ''}`,
    ],
    ...(locales === null ? [] : [['locales', `${locales.codes.join(', ') || 'none'}; default ${locales.default}`]]),
    [
      'users',
      `${number(content.users)}; roles: ${roles.map((it) => `${it.type} (${counted(it.users, 'user')}, ${counted(it.actions, 'permission')})`).join(', ') || 'none'}`,
    ],
    ['', `${counted(content.admins, 'administrator')} of the admin panel`],
    [
      'tokens',
      tokens
        .map((it) => `${it.name} (${it.type}${it.expires === null ? '' : `, until ${it.expires.slice(0, 10)}`})`)
        .join(', ') || 'none',
    ],
    ...(content.webhooks === 0 ? [] : [['webhooks', number(content.webhooks)]]),
  ];
  const blocks = [
    ...(types.length === 0 ? [] : [table(typeRows)]),
    ...(components.length === 0 ? [] : [table(componentRows)]),
    table(facts),
  ];
  return section('\nContent', [blocks.map((it) => it.join('\n')).join('\n\n')], paper);
};

const servedPart = ({ served }: AdoptReport, paper: Paper): string => {
  if (!served) return '';
  const rows = served.routes.map(({ path, methods }) => {
    const open = methods.filter((it) => it.isPublic).map((it) => it.method);
    return [path, methods.map((it) => it.method).join(' '), open.length === 0 ? '' : `anyone: ${open.join(' ')}`];
  });
  const own = served.own.map(({ method, path, isPublic }) => [path, method, isPublic ? `anyone: ${method}` : '']);
  return [
    section('\nServed', table([...rows, ...own]), paper),
    section(
      '\nNot served',
      grouped(served.notServed, (it) => it.why).flatMap(([why, own]) => [
        wrapped(`${why}:`, 2, paper),
        listed(
          own.map((it) => it.what),
          4,
          paper,
        ),
      ]),
      paper,
    ),
  ].join('\n');
};

/** In the order of the first of each group. */
const grouped = <T>(all: readonly T[], keyOf: (it: T) => string): readonly (readonly [string, readonly T[]])[] => {
  const groups = new Map<string, T[]>();
  for (const it of all) groups.set(keyOf(it), [...(groups.get(keyOf(it)) ?? []), it]);
  return [...groups];
};

const code = ({ code: files, plugins }: AdoptReport, paper: Paper): string => {
  const { paint } = paper;
  const group = (title: string, style: Style, isMeant: (it: CodeFact) => boolean): readonly string[] => {
    const found = files.filter(isMeant);
    if (found.length === 0) return [];
    const lines = grouped(found, (it) => it.why).flatMap(([why, own]) => [
      wrapped(`${why}:`, 4, paper),
      ...own.map(({ file, ignored }) => `      ${file}${ignored ? ' (ignored by the configuration)' : ''}`),
    ]);
    return [`  ${paint(style, title)}`, ...lines];
  };
  const isPlain = ({ verdict, why }: CodeFact): boolean => verdict === 'not needed' && why === asGenerated;
  const plain = files.filter(isPlain).length;
  const lines = [
    ...group('may guard access, and does not run', 'red', (it) => it.isGuard && it.verdict === 'not run'),
    ...group('does not run', 'yellow', (it) => !it.isGuard && it.verdict === 'not run'),
    ...group('obeyed', 'green', (it) => it.verdict === 'obeyed'),
    ...group('runs', 'green', (it) => it.verdict === 'runs'),
    ...group('not needed', 'green', (it) => it.verdict === 'not needed' && !isPlain(it)),
    ...(plain === 0 ? [] : [`  ${paint('green', 'not needed')}: ${counted(plain, 'file')} as v4 generates them`]),
    ...(plugins.length === 0
      ? []
      : [
          `  ${paint('bold', 'packages')}`,
          ...plugins.map((it) => wrapped(`${it.name}: ${it.verdict}: ${it.why}`, 4, paper)),
        ]),
  ];
  return section('\nIts code', lines, paper);
};

const settings = (found: readonly Setting[], paper: Paper): string =>
  section(
    '\nSettings that differ',
    found
      .filter((it) => it.state !== 'same')
      .map(({ name, v4Name, v4, dovetail, note }) =>
        wrapped(
          name === null
            ? `${v4Name} is ${shown(v4)}: ${note}`
            : `${name} is ${shown(dovetail)}, and v4 has ${shown(v4)}${v4Name === name ? '' : ` (${v4Name})`}${note === null ? '' : `: ${note}`}`,
          2,
          paper,
        ),
      ),
    paper,
  );

const weights: Readonly<Record<Hazard['weight'], readonly [string, Style]>> = {
  act: ['Something fails until this is mended', 'red'],
  notice: ['Clients may notice', 'yellow'],
  harmless: ['Harmless', 'dim'],
};

const hazards = ({ hazards: found, database }: AdoptReport, paper: Paper): string => {
  if (database === null) return '';
  if (found.length === 0) return section('\nHazards in the data', ['  none'], paper);
  const lines = (Object.keys(weights) as Hazard['weight'][]).flatMap((weight) => {
    const own = found.filter((it) => it.weight === weight);
    const [title, style] = weights[weight];
    return own.length === 0 ? [] : [`  ${paper.paint(style, title)}`, ...own.map((it) => hazard(it, paper))];
  });
  return section('\nHazards in the data', lines, paper);
};

const hazard = ({ message, example, effect, mend, code: name }: Hazard, paper: Paper): string => {
  const isSaid = example === null || message.includes(example);
  return [
    wrapped(`${message}${isSaid ? '' : `; such as ${example}`}`, 4, paper),
    paper.paint('dim', wrapped(effect, 6, paper)),
    ...(mend === undefined || name === 'link.orphan' ? [] : [paper.paint('dim', `      mend: ${mend};`)]),
  ].join('\n');
};

const differences = ({ differences: found }: AdoptReport, paper: Paper): string =>
  section(
    '\nWhat clients will find different',
    found.map(
      ({ because, message }) =>
        `${wrapped(message, 2, paper)}\n${paper.paint('dim', wrapped(`here: ${because}`, 4, paper))}`,
    ),
    paper,
  );

/** Reasons for refusals that are printed; all of them are in the JSON. */
const REFUSED_MAX = 30;

const requests = ({ requests: judged }: AdoptReport, paper: Paper): string => {
  if (!judged) return '';
  const { lines, requests: count, distinct, understood, refused, elsewhere } = judged;
  const states: Readonly<Record<RefusedGroup['lenient'], string>> = {
    ignored: 'with api.strict: false it is ignored and named in Dovetail-Ignored',
    'as v4': 'with api.strict: false it is read as v4 reads it',
    refused: 'with api.strict: false too',
  };
  const groups = refused
    .slice(0, REFUSED_MAX)
    .map((it) =>
      [
        `  ${paper.paint(it.lenient === 'refused' ? 'red' : 'yellow', `${counted(it.count, 'request')}`)} ${it.path}, ${counted(it.urls, 'URL')}${it.statuses.length === 0 ? '' : `, v4 answered ${it.statuses.join(', ')}`}`,
        wrapped(it.message, 4, paper),
        paper.paint('dim', wrapped(`${states[it.lenient]}; ${it.code}`, 4, paper)),
        paper.paint('dim', `    ${it.example}`),
      ].join('\n'),
    );
  return [
    section(
      '\nRequests',
      [
        wrapped(
          `${counted(count, 'request')} in ${counted(lines, 'line')}, ${number(distinct)} distinct. ${counted(understood, 'request')} to content ${understood === 1 ? 'is' : 'are'} answered alike by the strict parser.`,
          2,
          paper,
        ),
        ...elsewhere.map((it) => wrapped(`${number(it.count)}: ${it.what}; such as ${it.example}`, 2, paper)),
      ],
      paper,
    ),
    section('\nRefused by the strict parser', groups, paper),
    ...(refused.length > REFUSED_MAX ? [`  and ${refused.length - REFUSED_MAX} more, see --json`] : []),
  ]
    .filter((it) => it !== '')
    .join('\n');
};

const startPart = (
  { tables, columns, indexes, rows, journalMode, files, code: own, undo }: StartFacts,
  dir: string,
  paper: Paper,
): string => {
  const lines =
    tables.length + columns.length + indexes.length + rows.length === 0 && journalMode === null
      ? ['  nothing in the database']
      : [
          ...(tables.length === 0
            ? []
            : [wrapped(`${counted(tables.length, 'table')}: ${tables.join(', ')}`, 2, paper)]),
          ...(columns.length === 0
            ? []
            : [
                wrapped(
                  `${counted(columns.length, 'column')}: ${columns.map((it) => `${it.table}.${it.column}`).join(', ')}`,
                  2,
                  paper,
                ),
              ]),
          ...(indexes.length === 0
            ? []
            : [
                `  ${counted(indexes.length, 'index', 'indexes')}`,
                ...indexes.map((it) => `    ${it.name} on ${it.table} (${it.columns.join(', ')})`),
              ]),
          ...rows.map((it) => wrapped(`a row of ${it.table}: ${it.what}`, 2, paper)),
          ...(journalMode === null ? [] : ['  pragma journal_mode = wal, which v4 accepts']),
          '  No triggers, and nothing of v4 is altered or dropped. `dovetail sync --dry-run` prints the statements.',
        ];
  return [
    section(
      '\nWhat the first start writes',
      [
        ...lines,
        ...files.map((it) => wrapped(`${within(dir, it.path)}: ${it.what}`, 2, paper)),
        ...(own.length === 0
          ? []
          : [
              wrapped(
                "and what the project's own code writes, sends and calls, on a copy and beside v4 too:",
                2,
                paper,
              ),
              ...own.map((it) => wrapped(`${it.file}: ${it.what}`, 4, paper)),
            ]),
      ],
      paper,
    ),
    section(
      "\nTaking back what is Dovetail's, with it stopped",
      undo.map((it) => `  ${it};`),
      paper,
    ),
  ].join('\n');
};

/** Relative to the project's folder if it is in there. */
const within = (dir: string, file: string): string => {
  const relative = path.relative(dir, file);
  return relative.startsWith('..') ? file : relative;
};

const serve = ({ serve: how }: AdoptReport, paper: Paper): string => {
  if (!how) return '';
  const { paint } = paper;
  const commands = (title: string, lines: readonly string[]): readonly string[] => [
    `  ${paint('bold', title)}`,
    ...lines.map((it) => `    ${it}`),
  ];
  const config =
    how.config === null
      ? []
      : [
          Object.hasOwn(how.config, 'project')
            ? '  dovetail.config.json; list a file in ignoreCode once you have done otherwise what it guards, and in acceptCode\n  once access does not depend on what it catches:'
            : "  dovetail.config.json, for settings as v4's:",
          ...JSON.stringify(how.config, null, 2)
            .split('\n')
            .map((it) => `    ${it}`),
        ];
  return section(
    '\nServing it',
    [
      ...config,
      ...commands('on a copy, to try (uploads are shared)', how.copy),
      ...commands('beside v4, on the same database (uploads and secrets are shared; send it reads first)', how.beside),
      ...commands('instead of v4', how.instead),
      ...commands('and back', how.back),
    ],
    paper,
  );
};

const verdict = ({ ok, obstacles: found, code: files }: AdoptReport, paper: Paper): string => {
  const { paint } = paper;
  if (!ok)
    return `\n${paint(['bold', 'red'], `It cannot be served yet: ${counted(found.length, 'thing is', 'things are')} in the way (${found.map((it) => it.code).join(', ')}).`)}`;
  // only its modules show that one of them throws, or names a policy that does not exist
  const open = files.some((it) => it.verdict === 'runs')
    ? `\n${wrapped('The files of its code were not run: dovetail check loads them, and names what the start refuses.', 0, paper)}`
    : '';
  return `\n${paint(['bold', 'green'], 'It can be served.')}${open}`;
};
