/** What `adopt` finds, as data: `--json` prints it, `print.ts` words it for people. Documented in docs/moving-from-v4.md. */
import type { SchemaNote } from '../../model/load.js';
import type { Uid } from '../../model/model.js';
import type { CodeVerdict } from '../v4project/code.js';
import type { JudgedRequests } from './requests.js';

export interface AdoptReport {
  /** Whether it can be served: the exit code is 0. */
  readonly ok: boolean;
  /** What stands in the way. What could not be read because of it is null below. */
  readonly obstacles: readonly Obstacle[];
  readonly project: ProjectFacts;
  readonly database: DatabaseFacts | null;
  readonly content: ContentFacts | null;
  readonly served: ServedFacts | null;
  /** Files of v4's configuration that cannot be evaluated, and why; what they say is unknown. */
  readonly configFaults: readonly string[];
  readonly schemaWarnings: readonly SchemaNote[];
  readonly code: readonly CodeFact[];
  readonly plugins: readonly PluginFact[];
  /** v4's settings beside Dovetail's. */
  readonly settings: readonly Setting[];
  readonly hazards: readonly Hazard[];
  readonly differences: readonly Difference[];
  /** Given with `--urls`. */
  readonly requests: JudgedRequests | null;
  readonly start: StartFacts | null;
  readonly serve: ServeFacts | null;
}

export type ObstacleCode =
  | 'project.missing'
  | 'project.not-v4'
  | 'project.v3'
  | 'project.v5'
  | 'config.invalid'
  | 'schema.invalid'
  | 'code.guards'
  | 'settings.exposed'
  | 'settings.guards'
  | 'secrets.unfit'
  | 'database.unknown'
  | 'database.unsupported'
  | 'database.missing'
  | 'database.unreachable'
  | 'database.not-v4'
  | 'database.not-writable';

export interface Obstacle {
  readonly code: ObstacleCode;
  readonly message: string;
  /** What to do. */
  readonly cure: string;
}

export interface ProjectFacts {
  readonly dir: string;
  readonly name: string | null;
  /** The version of Strapi: what is installed, else what a lock file says, else the range in package.json. */
  readonly strapi: {
    readonly version: string;
    readonly from: 'installed' | 'lock file' | 'package.json';
  } | null;
  readonly language: 'JavaScript' | 'TypeScript';
  /** `NODE_ENV`, which selects `config/env/…`, and the environments that have a folder there. */
  readonly environment: string;
  readonly environments: readonly string[];
}

export interface DatabaseFacts {
  readonly client: 'sqlite' | 'postgres';
  /** File, or URL without user and password. */
  readonly place: string;
  /** Where that was read. */
  readonly from: string;
  /** Names of the environment variables that decide it. */
  readonly variables: readonly string[];
  readonly version: string;
  /** SQLite; null on PostgreSQL. */
  readonly journalMode: 'wal' | 'delete' | null;
  readonly bytes: number;
  readonly tables: number;
  /** When v4 last compared its tables with its files, in ISO 8601; null if it never did. */
  readonly lastSync: string | null;
}

export interface TypeFacts {
  readonly uid: Uid;
  readonly kind: 'collection' | 'single';
  readonly table: string;
  readonly draftAndPublish: boolean;
  readonly localized: boolean;
  /** Null if there is no table yet. */
  readonly entries: number | null;
  readonly published: number | null;
  readonly drafts: number | null;
  /** Entries by locale; `null` is a key too. Null for types without locales. */
  readonly locales: Readonly<Record<string, number>> | null;
}

export interface ContentFacts {
  readonly types: readonly TypeFacts[];
  readonly components: readonly {
    readonly uid: Uid;
    readonly table: string;
    readonly rows: number | null;
    /** Attributes that hold it: `api::article.article.seo`. */
    readonly usedBy: readonly string[];
  }[];
  readonly zones: readonly {
    readonly type: Uid;
    readonly attribute: string;
    readonly components: readonly Uid[];
  }[];
  readonly media: MediaFacts;
  readonly locales: { readonly default: string; readonly codes: readonly string[] } | null;
  readonly users: number;
  readonly admins: number;
  readonly roles: readonly {
    readonly type: string;
    readonly name: string;
    readonly users: number;
    readonly actions: number;
  }[];
  readonly tokens: readonly {
    readonly name: string;
    readonly type: string;
    readonly expires: string | null;
    readonly lastUsed: string | null;
  }[];
  readonly webhooks: number;
}

export interface MediaFacts {
  readonly files: number;
  readonly bytes: number;
  /** Files by provider. */
  readonly providers: Readonly<Record<string, number>>;
  /** Where the files of the provider `local` are. */
  readonly folder: string;
  /** Of the provider `local`, those that are not on the disk, formats included. */
  readonly missing: { readonly count: number; readonly example: string | null };
}

export interface ServedFacts {
  readonly prefix: string;
  readonly routes: readonly {
    readonly path: string;
    readonly type: Uid;
    /** Methods, and whether the public role may use them. */
    readonly methods: readonly { readonly method: string; readonly action: string; readonly isPublic: boolean }[];
  }[];
  /** Routes of the project's code that runs. */
  readonly own: readonly {
    readonly method: string;
    readonly path: string;
    readonly file: string;
    /** Null for a handler that is a function. */
    readonly action: string | null;
    readonly isPublic: boolean;
  }[];
  readonly notServed: readonly { readonly what: string; readonly why: string }[];
}

export interface CodeFact extends CodeVerdict {
  readonly file: string;
  /** Listed in `project.ignoreCode`. */
  readonly ignored: boolean;
  /** Routes that it declares; they are served if it runs. */
  readonly routes: readonly {
    readonly method: string;
    readonly path: string;
    readonly handler: string | null;
    readonly guards: readonly string[];
    /** `auth: false`: nobody is asked for a permission. */
    readonly isOpen: boolean;
  }[];
}

export interface PluginFact {
  readonly name: string;
  readonly range: string;
  readonly verdict: 'built in' | 'replaced' | 'not needed' | 'not run';
  readonly why: string;
}

export interface Difference {
  readonly code: string;
  /** Why it concerns this project. */
  readonly because: string;
  readonly message: string;
}

export interface StartFacts {
  readonly tables: readonly string[];
  readonly columns: readonly { readonly table: string; readonly column: string }[];
  readonly indexes: readonly { readonly name: string; readonly table: string; readonly columns: readonly string[] }[];
  /** Rows that are inserted or changed. */
  readonly rows: readonly { readonly table: string; readonly what: string }[];
  /** The journal mode that a SQLite file gets; null if it has it. */
  readonly journalMode: 'wal' | null;
  /** Statements that create, in order. */
  readonly statements: readonly string[];
  /** Files that are created or changed. */
  readonly files: readonly { readonly path: string; readonly what: string }[];
  /** What of the project's code runs at the start and may write, send and call whatever it likes. */
  readonly code: readonly { readonly file: string; readonly what: string }[];
  /** Statements that take back all of Dovetail's own that is there, or will be. */
  readonly undo: readonly string[];
}

export interface ServeFacts {
  /** Variables that Dovetail needs, and that v4 reads under other names or from other places. */
  readonly variables: readonly Variable[];
  /** `dovetail.config.json` that does as v4's configuration does; null if the defaults do. */
  readonly config: object | null;
  readonly copy: readonly string[];
  readonly beside: readonly string[];
  readonly instead: readonly string[];
  readonly back: readonly string[];
}

export interface Setting {
  /** In dovetail.config; null if there is no counterpart. */
  readonly name: string | null;
  /** In v4's configuration: `api.rest.maxLimit`. */
  readonly v4Name: string;
  readonly v4: unknown;
  readonly dovetail: unknown;
  /** `same`: nothing to do. `set`: it must be set to do as v4. `without`: there is no counterpart. */
  readonly state: 'same' | 'set' | 'without';
  readonly note: string | null;
}

export interface Variable {
  readonly name: string;
  /** Null for secrets: they are never printed. */
  readonly value: string | null;
  /** Where v4 has it: `the variable PG_PASSWORD`, `config/database.js`. */
  readonly from: string;
  /** The name of that variable; null if there is none. */
  readonly variable: string | null;
}

export type HazardCode =
  | 'link.orphan'
  | 'link.duplicate'
  | 'link.order-tie'
  | 'link.order-missing'
  | 'link.order-fraction'
  | 'link.to-one-many'
  | 'component.dangling'
  | 'component.orphan-entry'
  | 'component.removed-field'
  | 'component.other-type'
  | 'component.single-many'
  | 'media.dangling-file'
  | 'media.dangling-entry'
  | 'media.removed-field'
  | 'media.not-on-disk'
  | 'media.other-provider'
  | 'morph.dangling'
  | 'value.enumeration'
  | 'value.json'
  | 'value.date'
  | 'value.date-as-text'
  | 'value.number'
  | 'value.boolean'
  | 'value.too-long'
  | 'value.required'
  | 'value.not-unique'
  | 'name.shortened'
  | 'column.other-type'
  | 'column.left-over'
  | 'table.left-over'
  | 'drafts.switched-off'
  | 'locale.none'
  | 'locale.unknown'
  | 'locale.one-sided'
  | 'index.missing'
  | 'sequence.behind'
  | 'sequence.missing'
  | 'trigger'
  | 'user.no-role'
  | 'user.same-email'
  | 'user.hash'
  | 'permission.unknown';

export interface FoundHazard {
  readonly code: HazardCode;
  /** A table, a column as `table.column`, or an attribute as `uid.attribute`. */
  readonly place: string;
  /** Rows, unless the code is about one thing. */
  readonly count: number;
  /** One of them, as `id 7`, `article 3, tag 9` or a value; null if the place says all. */
  readonly example: string | null;
  /** SQL that mends it; null if there is none, or more to decide. */
  readonly mend?: string;
  /** Milliseconds that one lookup takes as it is. */
  readonly ms?: number;
  readonly wanted?: string;
}

export interface Hazard extends FoundHazard {
  /** `harmless`: nothing is answered differently. `notice`: clients may see it. `act`: something will fail until it is mended. */
  readonly weight: 'harmless' | 'notice' | 'act';
  readonly message: string;
  /** What Dovetail does with it. */
  readonly effect: string;
}
