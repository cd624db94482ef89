/** The statements that the server runs for one request, observed at its own database interface in this process. */

/**
 * Statements that a request costs, without begin and commit, and the rounds in which they go out.
 * @returns {Promise<Record<string, { statements: number, rounds: number }>>} by request
 */
export const countStatements = (dovetail, project, world, requests) => {
  const seen = { statements: 0, rounds: 0 };
  const counts = {};
  const watched = (db) => watchReads(db, (program) => watchedProgram(program, seen));
  return withServer(dovetail, project, world, watched, async (send) => {
    for (const request of requests) {
      Object.assign(seen, { statements: 0, rounds: 0 });
      await send(request.url(0));
      counts[request.name] = { ...seen };
    }
    return counts;
  });
};

const watchReads = (db, watch) => {
  const watchPlanned = (read) => ({ ...read, begin: (...given) => watch(read.begin(...given)) });
  return {
    ...db,
    read: (begin) => db.read(() => watch(begin())),
    readPlanned: (read) => db.readPlanned(watchPlanned(read)),
    readThenCatchUp: (read) => db.readThenCatchUp(watchPlanned(read)),
  };
};

/** What is given up, to be read again elsewhere, does not count. */
function* watchedProgram(program, seen) {
  let statements = 0;
  let rounds = 0;
  let step = program.next();
  while (!step.done) {
    statements += step.value.length;
    rounds += 1;
    step = program.next(yield step.value);
  }
  seen.statements += statements;
  seen.rounds += rounds;
  return step.value;
}

/**
 * The same for writes, with the rows that they insert, change and delete.
 * @param turn which of each request's turns is sent.
 * @returns {Promise<Record<string, { statements: number, rounds: number, rows: number }>>} by request
 */
export const countWrites = (dovetail, project, world, requests, turn) => {
  const seen = { statements: 0, rounds: 0, rows: 0 };
  const counts = {};
  const watched = (db) => ({
    ...db,
    write: (work) =>
      db.write(async (tx) => {
        const rowsWritten = async () => Number((await tx.run(rowsWrittenBy[world.name]))[0][0]);
        const before = await rowsWritten();
        const runAll = (statements) => {
          seen.statements += statements.length;
          if (statements.length > 0) seen.rounds += 1;
          return tx.runAll(statements);
        };
        const result = await work(txThrough(dovetail, db, tx, runAll));
        seen.rows = (await rowsWritten()) - before;
        return result;
      }),
  });
  return withServer(dovetail, project, world, watched, async (send) => {
    for (const { name, request } of requests) {
      Object.assign(seen, { statements: 0, rounds: 0, rows: 0 });
      await send(request(turn));
      counts[name] = { ...seen };
    }
    return counts;
  });
};

/** A transaction all of whose statements pass through the given function. */
const txThrough = ({ readInside }, { dialect }, { mayLockLate }, runAll) => ({
  runAll,
  run: async (statement) => (await runAll([statement]))[0],
  readPlanned: ({ plan, values, begin }) => readInside(begin(plan, values, dialect), { runAll }),
  finish: () => undefined,
  mayLockLate,
});

const plain = (sql) => ({ sql, params: [], ids: [] });
/** On SQLite since the connection was opened, on PostgreSQL since the transaction began. */
const rowsWrittenBy = {
  sqlite: plain('select total_changes()'),
  postgres: plain('select coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::int4 from pg_stat_xact_user_tables'),
};

/**
 * The time of every statement of a request, each run for itself; on PostgreSQL with its round trip.
 * @param requestFor the n-th request. @param firstTurn of them.
 * @returns {Promise<{ sql: string, ms: number }[]>} the slowest first
 */
export const timeStatements = (dovetail, project, world, requestFor, firstTurn = 0) => {
  const repeats = 20;
  const warmUp = 10;
  let times = new Map();
  const keep = (statement, began) =>
    times.set(statement.sql, (times.get(statement.sql) ?? 0) + performance.now() - began);
  function* timed(program) {
    let step = program.next();
    while (!step.done) {
      const results = [];
      for (const statement of step.value) {
        const began = performance.now();
        const [rows] = yield [statement];
        keep(statement, began);
        results.push(rows);
      }
      step = program.next(results);
    }
    return step.value;
  }
  const timedTx = (tx, db) => {
    const run = async (statement) => {
      const began = performance.now();
      const rows = await tx.run(statement);
      keep(statement, began);
      return rows;
    };
    // a write sends the statements of its response before it has the results of others
    let last = Promise.resolve();
    const runAll = (statements) => {
      const running = last.then(async () => {
        const results = [];
        for (const it of statements) results.push(await run(it));
        return results;
      });
      last = running.catch(() => undefined);
      return running;
    };
    return txThrough(dovetail, db, tx, runAll);
  };
  const watched = (db) => ({
    ...watchReads(db, timed),
    write: (work) => db.write((tx) => work(timedTx(tx, db))),
  });
  return withServer(dovetail, project, world, watched, async (send) => {
    for (let i = 0; i < warmUp; i++) await send(requestFor(firstTurn + i));
    times = new Map();
    for (let i = 0; i < repeats; i++) await send(requestFor(firstTurn + warmUp + i));
    return [...times].map(([sql, ms]) => ({ sql, ms: ms / repeats })).sort((a, b) => b.ms - a.ms);
  });
};

/** A reader and a writer over an instrumented database, as the public role. */
const withServer = async (dovetail, project, world, watched, use) => {
  const db =
    world.name === 'sqlite' ? await dovetail.openSqlite(world.place) : await dovetail.openPostgres(world.place);
  try {
    const { model } = dovetail.loadModel(project);
    const permissions = await dovetail.newPermissionStore(db, () => performance.now()).current();
    const watchedDb = watched(db);
    const reader = dovetail.newReader(watchedDb, { responseCacheBytesMax: 0, entriesBytesMax: 0 });
    const writer = dovetail.newWriter(watchedDb, Date.now);
    const context = {
      model,
      gate: dovetail.newGate(dovetail.publicCaller(permissions), model),
      rest: { defaultLimit: 25, maxLimit: 100, withCount: true },
      strict: true,
      defaultLocale: 'en',
    };
    const types = [...model.types.values()];
    return await use(async (request) => {
      const { method, path, body } = typeof request === 'string' ? { method: 'GET', path: request } : request;
      const { pathname, search } = new URL(path, 'http://localhost');
      const [, collection, id] = /^\/api\/([^/]+)(?:\/(\d+))?$/.exec(pathname);
      const asked = {
        type: types.find((it) => it.plural === collection),
        id: id === undefined ? null : Number(id),
      };
      const query = dovetail.textQuery(search.slice(1));
      const answer =
        method === 'GET'
          ? await reader.read({ ...asked, query, action: asked.id === null ? 'find' : 'findOne' }, context)
          : await dovetail.writeAndAnswer({ ...asked, action: writes[method], data: body.data }, { query }, context, {
              reader,
              writer,
            });
      if (!answer.ok) throw new Error(`${path}: ${JSON.stringify(answer.issues)}`);
    });
  } finally {
    await db.close();
  }
};

const writes = { POST: 'create', PUT: 'update' };
