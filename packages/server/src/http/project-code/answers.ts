/**
 * The server's own answers as project code sees them: `{ data, meta }`, of which nothing is parsed until somebody looks into it.
 * As long as nobody has, the bytes are what is sent, also where code has taken the two apart and put them together again.
 */
import { inspect } from 'node:util';
import type { Answer } from '../../read/answer.js';

type Parsed = Readonly<Record<string, unknown>>;

/** An answer, and what it says once somebody has looked. */
interface Shown {
  readonly answer: Answer;
  parsed: Parsed | null;
}

/** Read what a stand-in stands for, without opening it. */
const PART = Symbol('part');
const WHOLE = Symbol('whole');
const JSON_TEXT = Symbol('json text');

/** `{ data, meta }` of an answer with a JSON body, as the object that actions return. */
export const bodyOf = (answer: Answer): object => new Proxy(new WholeTarget(), new Whole(answer));

const ARRAY = '['.charCodeAt(0);
const OBJECT = '{'.charCodeAt(0);
const DATA_AT = '{"data":'.length;

const dataOf = (shown: Shown): unknown => {
  const first = shown.answer.body[DATA_AT];
  if (first !== ARRAY && first !== OBJECT) return parsedOf(shown.answer)['data'];
  return standIn(first === ARRAY ? [] : {}, shown, 'data');
};

/** Reads the plain object that a stand-in stands for. */
const PLAIN = Symbol('plain');

type Clone = (value: unknown, options?: object) => unknown;

/** Code may clone what it got: `structuredClone` takes no proxies, so it is given what they stand for. */
export const cloneStandIns = (): void => {
  const usual = globalThis.structuredClone as unknown as Clone;
  if (PLAIN in usual) return;
  const clone: Clone = (value, options) => {
    try {
      return usual(value, options);
    } catch (fault) {
      if ((fault as Error).name !== 'DataCloneError') throw fault;
      return usual(withoutStandIns(value, new Map()), options);
    }
  };
  globalThis.structuredClone = Object.assign(clone, { [PLAIN]: true as const }) as unknown as typeof structuredClone;
};

/** A copy of lists and plain objects as far as they hold stand-ins. */
const withoutStandIns = (value: unknown, seen: Map<object, unknown>): unknown => {
  if (value === null || typeof value !== 'object') return value;
  const known = seen.get(value);
  if (known !== undefined) return known;
  const plain = (value as { readonly [PLAIN]?: object })[PLAIN] ?? value;
  const isList = Array.isArray(plain);
  if (!isList && Object.getPrototypeOf(plain) !== Object.prototype) return value;
  const copy: Record<string, unknown> | unknown[] = isList ? [] : {};
  seen.set(value, copy);
  for (const [name, it] of Object.entries(plain)) (copy as Record<string, unknown>)[name] = withoutStandIns(it, seen);
  return copy;
};

const standIn = (target: object, shown: Shown, name: string): object => proxyOf(target, new Part(shown, name));

const proxyOf = (target: object, handler: StandIn): object => {
  // what prints a proxy looks at its target, without asking
  Object.defineProperty(target, inspect.custom, { value: opened });
  return new Proxy(target, handler);
};

const isOwn = (name: string | symbol): boolean => name === PART || name === WHOLE || name === JSON_TEXT;

function opened(this: object): object {
  return Array.isArray(this) ? [...(this as readonly unknown[])] : { ...this };
}

const parsedOf = ({ body }: Answer): Parsed => JSON.parse(body.toString()) as Parsed;

/** The answer that the object stands for; null if anybody has looked into it, or it is another one. */
export const untouchedAnswer = (body: object): Answer | null => {
  const { [WHOLE]: whole } = body as { readonly [WHOLE]?: Whole };
  if (whole?.isClosed) return whole.shown.answer;
  if ((body as { readonly [JSON_TEXT]?: unknown })[JSON_TEXT] !== undefined) return null;
  const { data, meta } = body as { readonly data?: unknown; readonly meta?: unknown };
  const shown = partOf(meta)?.shown;
  if (shown === undefined || !isPart(meta, 'meta', shown) || shown.parsed !== null || !isPlainPair(body)) return null;
  // of an answer without data there is no stand-in
  return isPart(data, 'data', shown) || (data === null && dataOf(shown) === null) ? shown.answer : null;
};

/** Nothing but two members, so that no `toJSON` says something else. */
const isPlainPair = (body: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(body);
  return (prototype === Object.prototype || prototype === null) && Reflect.ownKeys(body).length === 2;
};

const partOf = (value: unknown): Part | undefined =>
  value !== null && typeof value === 'object' ? (value as { readonly [PART]?: Part })[PART] : undefined;

/** Code may also return the parts under each other's names. */
const isPart = (value: unknown, name: string, shown: Shown): boolean => {
  const part = partOf(value);
  return part !== undefined && part.shown === shown && part.name === name;
};

/**
 * Stands for something that is made at the first look at it, which fills the target, so that everything that looks at the target itself
 * (`Array.isArray`, `console.log`, invariants of proxies) agrees.
 */
abstract class StandIn implements ProxyHandler<object> {
  isClosed = true;
  /** Read through the proxy. */
  protected abstract readonly own: symbol;
  protected abstract fill(target: object): void;
  #open(target: object): object {
    if (this.isClosed) {
      this.isClosed = false;
      this.fill(target);
    }
    return target;
  }
  get(target: object, name: string | symbol): unknown {
    if (name === this.own) return this;
    if (name === PLAIN) return this.#open(target);
    // asked of every value: by `await`, and by us
    if (this.isClosed && (name === 'then' || isOwn(name))) return undefined;
    return Reflect.get(this.#open(target), name);
  }
  set(target: object, name: string | symbol, value: unknown): boolean {
    return Reflect.set(this.#open(target), name, value);
  }
  has(target: object, name: string | symbol): boolean {
    return Reflect.has(this.#open(target), name);
  }
  deleteProperty(target: object, name: string | symbol): boolean {
    return Reflect.deleteProperty(this.#open(target), name);
  }
  defineProperty(target: object, name: string | symbol, descriptor: PropertyDescriptor): boolean {
    return Reflect.defineProperty(this.#open(target), name, descriptor);
  }
  setPrototypeOf(target: object, prototype: object | null): boolean {
    return Reflect.setPrototypeOf(this.#open(target), prototype);
  }
  preventExtensions(target: object): boolean {
    return Reflect.preventExtensions(this.#open(target));
  }
  ownKeys(target: object): (string | symbol)[] {
    return Reflect.ownKeys(this.#open(target));
  }
  getOwnPropertyDescriptor(target: object, name: string | symbol): PropertyDescriptor | undefined {
    return Reflect.getOwnPropertyDescriptor(this.#open(target), name);
  }
}

/** Stands for `data` or `meta`. The first look parses the answer. */
class Part extends StandIn {
  protected readonly own = PART;
  readonly shown: Shown;
  readonly name: string;
  constructor(shown: Shown, name: string) {
    super();
    this.shown = shown;
    this.name = name;
  }
  protected fill(target: object): void {
    this.shown.parsed ??= parsedOf(this.shown.answer);
    Object.assign(target, this.shown.parsed[this.name]);
  }
}

/** Stands for `{ data, meta }`. The first look makes the two, which nobody has looked into then. */
class Whole extends StandIn {
  protected readonly own = WHOLE;
  readonly shown: Shown;
  constructor(answer: Answer) {
    super();
    this.shown = { answer, parsed: null };
  }
  getPrototypeOf(target: object): object | null {
    return this.isClosed ? Object.prototype : Reflect.getPrototypeOf(target);
  }
  protected fill(target: object): void {
    Object.setPrototypeOf(target, Object.prototype);
    Object.assign(target, { data: dataOf(this.shown), meta: standIn({}, this.shown, 'meta') });
  }
}

/** Stands for what a text of JSON says. */
class JsonText extends StandIn {
  protected readonly own = JSON_TEXT;
  readonly text: string;
  constructor(text: string) {
    super();
    this.text = text;
  }
  protected fill(target: object): void {
    Object.assign(target, JSON.parse(this.text));
  }
}

/** A body of JSON as an object or list, which is parsed when somebody looks into it; null for texts of neither. */
export const viewOfJson = (text: string): { readonly body: object; readonly isOpened: () => boolean } | null => {
  const first = text.trimStart()[0];
  if (first !== '{' && first !== '[') return null;
  const view = new JsonText(text);
  return { body: proxyOf(first === '[' ? [] : {}, view), isOpened: () => !view.isClosed };
};

/** An object that prints as what it stands for, until it is filled. */
class WholeTarget {
  [inspect.custom](): object {
    return { ...this };
  }
}
