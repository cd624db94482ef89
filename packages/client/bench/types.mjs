/**
 * How long TypeScript takes to check calls against a large model: `npm run bench --workspace packages/client`.
 * 200 types with 12 fields and 8 relations each, and a find, a create and an update of each with two levels of populate.
 */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const here = path.join(import.meta.dirname, '..');
const dir = path.join(here, '.bench');
const count = Number(process.argv[2] ?? 200);
const numbers = Array.from({ length: count }, (_, i) => i);

const typeOf = (i) => {
  const to = (n) => `Type${(i + n) % count}`;
  const fields = Array.from({ length: 10 }, (_, n) => `    field${n}: ${n % 3 === 0 ? 'number' : 'string'} | null;`);
  return `export interface Type${i} {
  uid: 'api::type${i}.type${i}';
  fields: {
    title: string;
${fields.join('\n')}
    createdAt: string;
  };
  nested: {
    one: { kind: 'one'; to: ${to(1)} };
    two: { kind: 'one'; to: ${to(7)} };
    many: { kind: 'many'; to: ${to(11)} };
    others: { kind: 'many'; to: ${to(23)} };
    self: { kind: 'many'; to: ${to(0)} };
    picture: { kind: 'file'; to: ${to(3)} };
    part: { kind: 'component'; to: ${to(5)} };
    zone: { kind: 'zone'; to: { 'a.a': ${to(13)}; 'b.b': ${to(17)}; 'c.c': ${to(19)} } };
  };
  secret: Record<never, never>;
  required: 'title';
  system: 'createdAt';
  dates: 'createdAt';
  drafts: true;
  localized: false;
}`;
};

const schema = `${numbers.map(typeOf).join('\n\n')}
export interface Schema {
  collections: {
${numbers.map((i) => `    'type-${i}': Type${i};`).join('\n')}
  };
  singles: Record<never, never>;
  user: Type0;
  file: Type0;
}
`;

const calls = `import { createClient } from '../src/index.js';
import type { Schema } from './schema.js';
const api = createClient<Schema>({ url: '' });
${numbers
  .map(
    (i) => `export const call${i} = async () => {
  const all = api.collection('type-${i}');
  const { data } = await all.find({
    fields: ['title', 'field0'],
    filters: { title: { $contains: 'a' }, one: { many: { field1: { $ne: 'b' } } } },
    sort: ['title:desc', 'one.field2'],
    populate: { one: { fields: ['title'], populate: { many: { fields: ['field3'] } } }, zone: { on: { 'a.a': { fields: ['title'] } } }, part: true },
  });
  data[0]?.attributes.one.data?.attributes.many.data[0]?.attributes.field3?.toFixed();
  await all.create({ title: 'x', many: { connect: [{ id: 1, position: { start: true } }] } });
  await all.update(1, { part: { title: 'y' }, zone: [{ __component: 'a.a', title: 'z' }] });
};`,
  )
  .join('\n')}
`;

fs.mkdirSync(dir, { recursive: true });
fs.writeFileSync(path.join(dir, 'schema.ts'), schema);
fs.writeFileSync(path.join(dir, 'calls.ts'), calls);
fs.writeFileSync(
  path.join(dir, 'tsconfig.json'),
  JSON.stringify({ extends: '../tsconfig.json', include: ['*.ts', '../src'] }),
);
try {
  const begun = performance.now();
  execFileSync('npx', ['tsc', '--noEmit', '-p', dir], { cwd: here, stdio: 'inherit' });
  console.log(`${count} types, ${3 * count} calls: ${((performance.now() - begun) / 1000).toFixed(1)} s`);
} finally {
  fs.rmSync(dir, { recursive: true });
}
