/** Decorators in the TypeScript of v4 projects. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CodeProject, serveCode } from '../world/code-project.js';

const route = (name: string): string =>
  `export default { routes: [{ method: 'GET', path: '/${name}', handler: 'own.${name}', config: { auth: false } }] };`;

const decorated = {
  'tsconfig.json': `{ "compilerOptions": { "experimentalDecorators": true } }`,
  'src/shared/greeter.ts': `
    function loud(_target: object, _name: string, descriptor: PropertyDescriptor): PropertyDescriptor {
      const own = descriptor.value;
      return { ...descriptor, value(...given: unknown[]) { return own.apply(this, given).toUpperCase(); } };
    }
    const named = (name: string) => (target: Function) => { (target as { label?: string }).label = name; };
    @named('the greeter')
    export class Greeter {
      @loud greet(who: string): string { return 'hello ' + who; }
      @loud static wave(): string { return 'bye'; }
    }`,
  'src/api/own/routes/own.ts': route('greet'),
  'src/api/own/controllers/own.ts': `
    import { Greeter } from '../../../shared/greeter';
    export default { greet: () => [new Greeter().greet('ann'), Greeter.wave(), (Greeter as { label?: string }).label] };`,
};

/** As the package does it: what is there already stays. */
const metadataPackage = `if (typeof Reflect.metadata !== 'function') {
  const kept = new WeakMap();
  Reflect.metadata = (key, value) => (target) => void kept.set(target, { ...kept.get(target), [key]: value });
  Reflect.getMetadata = (key, target) => kept.get(target)?.[key];
}`;

describe('decorators of a TypeScript project', () => {
  let served: CodeProject | undefined;
  const forget = () => {
    for (const name of ['metadata', 'getMetadata']) Reflect.deleteProperty(Reflect, name);
  };
  beforeEach(forget);
  afterEach(async () => {
    await served?.close();
    forget();
  });

  it('get the methods that they stand before', async () => {
    served = await serveCode('sqlite', decorated);
    expect((await served.json('GET', '/api/greet')).body).toEqual(['HELLO ANN', 'BYE', 'the greeter']);
  });

  it('have the metadata of reflect-metadata, where the project loads it', async () => {
    served = await serveCode('sqlite', {
      ...decorated,
      'node_modules/reflect-metadata/package.json': '{ "name": "reflect-metadata", "main": "index.js" }',
      'node_modules/reflect-metadata/index.js': metadataPackage,
      'src/api/own/routes/own.ts': route('told'),
      'src/api/own/controllers/own.ts': `
        import 'reflect-metadata';
        @(Reflect as any).metadata('role', 'editor')
        class Service {}
        export default { told: () => [(Reflect as any).getMetadata('role', Service)] };`,
    });
    expect((await served.json('GET', '/api/told')).body).toEqual(['editor']);
  });
});
