// Applies a plan and kills itself before the given step: node killed-migration.mjs DIALECT PLACE PLAN STEP
import { applyPlan } from '../../dist/migrate/apply.js';
import { readPlan } from '../../dist/migrate/file.js';
import { openPostgres } from '../../dist/sql/postgres/open.js';
import { openSqlite } from '../../dist/sql/sqlite/open.js';

const [dialect, place, file, step] = process.argv.slice(2);
const db = await (dialect === 'sqlite' ? openSqlite(place) : openPostgres(place));
let steps = 0;
const onStep = () => {
  steps += 1;
  if (steps === Number(step)) process.kill(process.pid, 'SIGKILL');
};
await applyPlan(readPlan(file), db, { onStep, onRows: () => undefined });
await db.close();
