/** Pages join up to the full list: every ordering ends with the id, so no entry is lost or shown twice (SO4). */
import { describe, expect, test } from 'vitest';
import { textQuery } from '../../src/query/brackets.js';
import { newReader } from '../../src/read/find.js';
import { newRandom, seedOfRun } from '../oracle/random.js';
import { anyRequest, type Request } from '../oracle/request.js';
import { newScene, newStage } from '../oracle/scene.js';
import { spell } from '../oracle/spelling.js';
import { dialects } from '../world/databases.js';

const seed = seedOfRun();
const sceneCount = 3;
const requestCount = 40;

interface ListBody {
  readonly data: readonly { readonly id: number }[];
  readonly meta: { readonly pagination: { readonly total: number; readonly pageCount?: number } };
}

describe.each(dialects)(`pages on %s, seed ${seed}`, (dialect) => {
  test('PA6: join up to the full list, by page and by offset', async () => {
    let joined = 0;
    for (let i = 0; i < sceneCount; i++) {
      const scene = newScene(seed + i);
      const stage = await newStage(scene, dialect);
      const reader = newReader(stage.db);
      const random = newRandom(scene.seed).fork('pages');
      const read = async (request: Request): Promise<ListBody> => {
        const type = scene.model.types.get(request.uid)!;
        const query = textQuery(spell(request));
        const answer = await reader.read({ action: 'find', type, id: null, query }, stage.context);
        if (!answer.ok) throw new Error(`seed ${scene.seed}: ${spell(request)}: ${JSON.stringify(answer.issues)}`);
        return JSON.parse(answer.value.body.toString()) as ListBody;
      };
      for (let n = 0; n < requestCount; n++) {
        const drawn = anyRequest(scene.project, scene.world, random);
        if (drawn.action !== 'find') continue;
        const amount = (value: number) => ({ value, text: String(value) });
        const request: Request = {
          ...drawn,
          page: { kind: 'offset', start: null, limit: amount(100), withCount: true },
        };
        const whole = await read(request);
        const { total } = whole.meta.pagination;
        const size = random.between(1, 7);
        const parts: ListBody['data'][number][] = [];
        for (let page = 1; page <= Math.ceil(total / size) + 1; page++) {
          const start = (page - 1) * size;
          const body = await read({
            ...request,
            page: random.chance(0.5)
              ? { kind: 'page', page: amount(page), pageSize: amount(size), withCount: null }
              : { kind: 'offset', start: amount(start), limit: amount(size), withCount: null },
          });
          expect(body.meta.pagination.total).toBe(total);
          parts.push(...body.data);
        }
        expect(parts, `seed ${scene.seed}: ${spell(request)}`).toEqual(whole.data);
        expect(parts.length).toBe(total);
        joined += 1;
      }
      await stage.drop();
    }
    expect(joined).toBeGreaterThan(sceneCount * requestCount * 0.4);
  });
});
