/** `explain`: what a URL means for a caller, and what the caller does not get. */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type ExplainOptions, explain } from '../../src/cli/explain.js';
import { newPeopleWorld, type PeopleWorld } from '../world/people.js';
import { dialects, projectDir } from '../world/world.js';

describe.each(dialects)('explain on %s', (dialect) => {
  let people: PeopleWorld;
  beforeAll(async () => {
    people = await newPeopleWorld(dialect, { grants: { editor: ['api::film.film.find', 'api::donor.donor.find'] } });
  });
  afterAll(() => people.close());
  afterEach(() => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
  });

  const explained = async (url: string, options: Partial<ExplainOptions> = {}) => {
    for (const [name, value] of Object.entries(people.world.env)) vi.stubEnv(name, value);
    const text = { out: '', said: '' };
    vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
      text.out += String(chunk);
      return true;
    });
    vi.spyOn(process.stderr, 'write').mockImplementation((chunk) => {
      text.said += String(chunk);
      return true;
    });
    await explain(projectDir, url, { json: false, ...options });
    return text;
  };

  it('reports what the caller may not see, and why', async () => {
    const { out } = await explained('/api/films?fields=id&populate=lender,confidant,director');
    expect(out).toContain('\n  left out: film.lender (role:public may not api::donor.donor.find)\n');
    expect(out).toContain('\n  left out: film.confidant (hidden from everyone)\n');
    expect(out).not.toContain('left out: film.director');
    const { leftOut } = JSON.parse((await explained('/api/films?populate=*', { json: true })).out) as {
      leftOut: { name: string }[];
    };
    expect(leftOut.map((it) => it.name)).toEqual(expect.arrayContaining(['film.lender', 'film.confidant']));
    expect(leftOut.map((it) => it.name)).not.toContain('film.createdBy');
  });

  it.each([
    ['role:public', ['film.lender']],
    ['role:editor', ['film.director']],
    ['token:custom-token', ['film.lender', 'film.director']],
    ['token:full-token', []],
  ])('--as %s leaves out %j', async (as, names) => {
    const { out } = await explained('/api/films?fields=id&populate=lender,director', { as });
    expect([...out.matchAll(/left out: (\S+)/g)].map((it) => it[1])).toEqual(names);
  });

  it('reports that the caller may not read at all', async () => {
    expect((await explained('/api/genres', { as: 'role:editor' })).said).toBe(
      '(role:editor may not api::genre.genre.find; explained anyway)\n',
    );
  });

  it.each([
    ['role:editr', /There is no role of type "editr"; did you mean "editor"\?/],
    ['token:nobody', /There is no API token named "nobody"/],
    ['editor', /--as takes role:TYPE or token:NAME, not "editor"/],
  ])('--as %s gives a clear message', async (as, words) => {
    await expect(explained('/api/films', { as })).rejects.toThrow(words);
  });

  it.each(['/api/films', 'api/films', 'http://localhost:1337/api/films', 'https://cms.example/api/films/#top'])(
    'accepts %s',
    async (url) => {
      expect((await explained(url)).out).toContain('type: api::film.film');
    },
  );

  it('lists the readable paths only', async () => {
    const fault = await explained('/api/lobby/1').catch((it: unknown) => String(it));
    expect(fault).toMatch(
      /\/api\/lobby\/1 is not a route that reads content\. Routes: .*\/api\/films\/:id.*\/api\/lobby(,|$)/,
    );
    expect(fault).not.toContain('/api/lobby/:id');
  });
});
