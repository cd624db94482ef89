/** What the server asks its database for one request, seen at its own database interface and in this process. */

/**
 * Statements that a request costs, without begin and commit, and the rounds in which they go out.
 * @returns {Promise<Record<string, { statements: number, rounds: number }>>} by request
 */
export const countStatements = (dovetail, project, world, requests) => {
  const seen = { statements: 0, rounds: 0 };
  const counts = {};
  function* counted(program) {
    let step = program.next();
    while (!step.done) {
      seen.statements += step.value.length;
      seen.rounds += 1;
      step = program.next(yield step.value);
    }
    return step.value;
  }
  return withReader(dovetail, project, world, counted, async (read) => {
    for (const request of requests) {
      Object.assign(seen, { statements: 0, rounds: 0 });
      await read(request);
      counts[request.name] = { ...seen };
    }
    return counts;
  });
};

/**
 * The time of every statement of a request, each run for itself; on PostgreSQL with its round trip.
 * @returns {Promise<{ sql: string, ms: number }[]>} the slowest first
 */
export const timeStatements = (dovetail, project, world, request) => {
  const repeats = 20;
  const warmUp = 10;
  let times = new Map();
  function* timed(program) {
    let step = program.next();
    while (!step.done) {
      const results = [];
      for (const statement of step.value) {
        const began = performance.now();
        const [rows] = yield [statement];
        times.set(statement.sql, (times.get(statement.sql) ?? 0) + performance.now() - began);
        results.push(rows);
      }
      step = program.next(results);
    }
    return step.value;
  }
  return withReader(dovetail, project, world, timed, async (read) => {
    for (let i = 0; i < warmUp; i++) await read(request);
    times = new Map();
    for (let i = 0; i < repeats; i++) await read(request);
    return [...times].map(([sql, ms]) => ({ sql, ms: ms / repeats })).sort((a, b) => b.ms - a.ms);
  });
};

/** A reader whose programs pass through `watched`, as the public role. */
const withReader = async (dovetail, project, world, watched, use) => {
  const db = world.name === 'sqlite' ? dovetail.openSqlite(world.place) : await dovetail.openPostgres(world.place);
  try {
    const { model } = dovetail.loadModel(project);
    const permissions = await dovetail.newPermissionStore(db, () => performance.now()).current();
    const reader = dovetail.newReader({ ...db, read: (program) => db.read(watched(program)) }, { answersBytesMax: 0 });
    const context = {
      model,
      gate: dovetail.newGate(dovetail.publicCaller(permissions), model),
      rest: { defaultLimit: 25, maxLimit: 100, withCount: true },
      strict: true,
      defaultLocale: 'en',
    };
    return await use(async ({ url }) => {
      const { pathname, search } = new URL(url(0), 'http://localhost');
      const [, id] = /\/(\d+)$/.exec(pathname) ?? [];
      const answer = await reader.read(
        {
          action: id === undefined ? 'find' : 'findOne',
          type: model.types.get('api::article.article'),
          id: id === undefined ? null : Number(id),
          search: search.slice(1),
        },
        context,
      );
      if (!answer.ok) throw new Error(`${url(0)}: ${JSON.stringify(answer.issues)}`);
    });
  } finally {
    await db.close();
  }
};
