/** The figures of docs/speed.md and of README's Speed section, from the newest recorded runs of the benchmark. */
import { growthRequests } from '../packages/server/bench/growth.mjs';
import { newest } from '../packages/server/bench/history.mjs';

const names = { sqlite: 'SQLite', postgres: 'PostgreSQL' };
const about = {
  list: 'list',
  star: 'list, `populate=*`',
  tree: 'list, a tree of three levels',
  one: 'one entry by random id, the same tree',
  page: 'filter through a relation, sort, page',
  create: 'create with relations, components, a zone',
  connect: 'connect into a list of 10,000',
  append: 'append to a list of 10,000',
  upload: 'upload of a photograph of 5 MB with four formats',
};

const aboutGrowth = Object.fromEntries(growthRequests.map((it) => [it.name, it.about]));

/** Two figures that count, as long as the number is not in the thousands. */
const short = (number) => {
  if (number === undefined || number === null) return '';
  return number >= 100 ? Math.round(number).toLocaleString('en') : number.toPrecision(2);
};

const table = (head, rows) =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

const versionOf = ({ at, commit }) => `${at.slice(0, 10)}, commit ${commit ?? 'unknown'}`;
const hardwareOf = ({ machine: { cpu, cores, memoryGb, node } }) =>
  `${cores} cores of ${cpu}, ${memoryGb} GB, Node ${node.slice(1)}`;
const machineOf = (run) => `${versionOf(run)}, ${hardwareOf(run)}`;

/** The runs that measured the databases need not be the same. */
const machinesOf = (found) => {
  const said = (textOf) => {
    const texts = Object.entries(found).map(([name, { run }]) => [names[name], textOf(run)]);
    const isSame = texts.every(([, it]) => it === texts[0][1]);
    return isSame ? texts[0][1] : texts.map(([name, it]) => `${name} ${it}`).join('; ');
  };
  return `${said(versionOf)}; ${said(hardwareOf)}`;
};

/** @param part of one database's figures. @returns by database, each with the run that measured it */
const newestOf = (part) =>
  Object.fromEntries(
    Object.keys(names).flatMap((name) => {
      const found = newest((run) => {
        const figures = part(run.databases?.[name] ?? {}, run);
        return figures === undefined ? undefined : { run, figures };
      });
      return found === undefined ? [] : [[name, found]];
    }),
  );

const reads = (articles) => {
  const found = newestOf((it, run) => (run.articles === articles ? it.requests : undefined));
  const [first] = Object.values(found);
  if (!first) return [];
  const databases = Object.keys(found);
  /** A database that is read by threads has a second figure. */
  const columnsOf = (database) => {
    const figures = Object.values(found[database].figures);
    return [
      { head: 'uncached', of: ({ cpuRatio, ratio }) => cpuRatio ?? ratio },
      ...(figures.some((it) => it.singleCpuRatio)
        ? [{ head: 'uncached, one thread', of: (it) => it.singleCpuRatio }]
        : []),
      { head: 'cached', of: (it) => it.cachedRatio },
    ].map(({ head, of }) => ({
      head: `${names[database]}, ${head}`,
      of: (name) => short(of(found[database].figures[name] ?? {})),
    }));
  };
  const columns = databases.flatMap(columnsOf);
  const head = ['request', ...columns.map((it) => it.head)];
  const rows = Object.keys(first.figures).map((name) => [about[name], ...columns.map((it) => it.of(name))]);
  return [
    `Ratios to the hand-written server, 1 being as fast: ${articles.toLocaleString('en')} articles, of which a list shows 25 (${machinesOf(found)}):`,
    table(head, rows),
  ];
};

const kept = () => {
  const found = newestOf((it) => it.kept);
  const databases = Object.keys(found);
  const cells = (it) =>
    Object.entries(it.figures).map(
      ([name, { bytes, ratio }]) => `${name} of ${short(bytes / 1000)} KB ${short(ratio)}`,
    );
  return databases.length === 0
    ? []
    : [
        `Cached responses, as a share of what bare node:http sends in the same CPU time with the same bytes and headers: ${databases
          .map((it) => `${names[it]}: ${cells(found[it]).join(', ')}`)
          .join('; ')}.`,
      ];
};

const together = () => {
  const found = newest((run) => run.together && { run, figures: run.together });
  if (!found) return [];
  const databases = Object.keys(found.figures);
  const head = [
    'request',
    ...databases.flatMap((it) => [`${names[it]}, uncached`, `entries cached`, `response cached`]),
  ];
  const requests = Object.keys(found.figures[databases[0]]);
  const cell = ({ perSecond }, times) => `${short(perSecond)}/s, ${short(times)} times`;
  const rows = requests.map((name) => [
    name,
    ...databases.flatMap((it) => {
      const { anew, entries, kept, anewToV4, entriesToV4, keptToV4 } = found.figures[it][name];
      return [cell(anew, anewToV4), cell(entries, entriesToV4), cell(kept, keptToV4)];
    }),
  ]);
  const and = (parts) => new Intl.ListFormat('en').format(parts);
  const bare = databases.flatMap((it) => {
    const times = requests.map((name) => found.figures[it][name].bareToV4);
    return times.includes(undefined) ? [] : [`${and(times.map(short))} times v4's rate next to ${names[it]}`];
  });
  return [
    `Requests per second over the data of the recorded cases, 16 at a time, and how many times Strapi v4's rate that is. "Entries cached": only the ids of a page are read; its entries come from earlier responses (${machineOf(found.run)}):`,
    table(head, rows),
    ...(bare.length === 0
      ? []
      : [
          `Bare node:http, sending the same bytes and headers from memory in the same runs, reaches ${and(bare)}. The clients run on the same cores.`,
        ]),
  ];
};

const writes = () => {
  const found = newestOf((it) => it.writes?.requests);
  const uploads = newestOf((it) => it.upload);
  const [first] = Object.values(found);
  if (!first) return [];
  const databases = Object.keys(found);
  const rows = [
    ...Object.keys(first.figures).map((name) => [
      about[name],
      ...databases.map((it) => short(found[it].figures[name]?.ratio)),
    ]),
    ...(Object.keys(uploads).length === 0
      ? []
      : [[about.upload, ...databases.map((it) => short(uploads[it]?.figures.ratio))]]),
  ];
  return [
    `Writes, as ratios of the rates (${machinesOf(found)}):`,
    table(['request', ...databases.map((it) => names[it])], rows),
  ];
};

const growth = () => {
  const found = newestOf((it) => it.growth);
  const databases = Object.keys(found);
  const [first] = Object.values(found);
  if (!first) return [];
  const rows = Object.keys(first.figures).map((name) => [
    aboutGrowth[name],
    ...databases.map((it) => short(found[it].figures[name]?.ratio)),
  ]);
  return [
    `CPU time of a request with 100,000 articles, as a multiple of that with 1,000, attributes that sort indexed (${machinesOf(found)}):`,
    table(['request', ...databases.map((it) => names[it])], rows),
  ];
};

const size = () => {
  const found = newest((run) => {
    const it = run.databases?.sqlite;
    return it?.startCpuMs === undefined ? undefined : { run, it };
  });
  if (!found) return [];
  const { rssMb, startCpuMs } = found.it;
  const byThreads = newest((run) => run.memory);
  return [
    ...(byThreads ? [memoryOf(byThreads)] : []),
    `Memory after the requests of the first table on SQLite: ${rssMb.dovetail} MB without cached responses, ${rssMb.cached} MB with them, the hand-written server ${rssMb.baseline} MB. Start: ${short(startCpuMs)} ms of CPU.`,
  ];
};

const memoryOf = ({ floor, ...byThreads }) => {
  const { requests } = byThreads[1];
  const both = ({ rssMb }) => `${rssMb[0]} and ${rssMb.at(-1)} MB`;
  const each = Object.entries(byThreads).map(
    ([threads, it]) =>
      `${both(it)} ${threads === 'default' ? 'by default' : `with ${threads} reading thread${threads === '1' ? '' : 's'}`}`,
  );
  const ofFloor = floor
    ? ` A program that is written for these three requests, without threads (\`bench/floor.mjs\`): ${both(floor)}.`
    : '';
  return `Memory on SQLite without caches, at the start and after ${requests.toLocaleString('en')} requests, a third for each of the three in the table of rates: ${each.join(', ')}.${ofFloor}`;
};

const textOf = (parts) => parts.join('\n\n') || 'Nothing is recorded yet.';

export const speed = () =>
  textOf([...reads(30), ...reads(10_000), ...kept(), ...together(), ...writes(), ...growth(), ...size()]);

export const speedInShort = () => textOf([...reads(10_000), ...together(), ...writes()]);
