/**
 * The content API as an OpenAPI 3.1 document, for one caller: the paths that they may use, with what they may see. It is
 * exact where JSON Schema can be: an attribute that is not in the document is in no response and in no body.
 */
import { issueKinds, never, statusOf } from '../errors.js';
import { limits } from '../limits.js';
import { type EntryType, FILE_UID, type LinkAttribute, type Model, typeOf, USER_UID } from '../model/model.js';
import type { EntryFormat, Gate } from '../query/selection.js';
import {
  type JsonSchema,
  listOf,
  namesOrList,
  newSchemas,
  nullable,
  object,
  publicationState,
  type Schemas,
  sortSchema,
  status,
} from './schemas.js';

/** An action on the entries of a content type. */
export interface ContentOperation {
  readonly kind: 'content';
  readonly method: string;
  /** With `:id`, as routes write it. */
  readonly path: string;
  readonly type: EntryType;
  readonly action: 'find' | 'findOne' | 'single' | 'create' | 'update' | 'delete' | 'createLocalization';
  /** Code of the project answers instead, with anything. */
  readonly isCustom: boolean;
}

/** Reading a part of a relation list of an entry. */
export interface WindowOperation {
  readonly kind: 'window';
  readonly method: string;
  readonly path: string;
  /** That of the entry. */
  readonly type: EntryType;
  readonly attribute: LinkAttribute;
}

/** The same of the lists in its components: one operation, since there may be very many of them. */
export interface PartWindowOperation {
  readonly kind: 'part-window';
  readonly method: string;
  readonly path: string;
  readonly type: EntryType;
  /** Their paths below `relations`, with `:id` for ids. */
  readonly lists: readonly string[];
}

/** One of users, files, locales and the model. */
export interface FixedOperation {
  readonly kind: 'fixed';
  readonly method: string;
  readonly path: string;
  /** The same without the prefix, which tells what it does: `/auth/local`. */
  readonly name: string;
}

export type Operation = ContentOperation | WindowOperation | PartWindowOperation | FixedOperation;

export interface DescribedApi {
  readonly title: string;
  readonly version: string;
  /** Where it is, as clients reach it: `https://content.example.org`, or `/`. */
  readonly server: string;
  readonly model: Model;
  readonly gate: Gate;
  /** Of entries. */
  readonly format: EntryFormat;
  /** All that the caller may do. */
  readonly operations: readonly Operation[];
}

export const openapiOf = ({ title, version, server, model, gate, format, operations }: DescribedApi): JsonSchema => {
  const schemas = newSchemas(model, gate, format);
  const fixed = fixedOperations(model, schemas);
  const describedOperation = (operation: Operation): JsonSchema | null => {
    switch (operation.kind) {
      case 'content':
        return contentOperation(operation, schemas);
      case 'window':
        return windowOperation(operation, typeOf(model, operation.attribute.target), schemas);
      case 'part-window':
        return partWindowOperation(operation, schemas);
      case 'fixed':
        return fixed(operation);
      default:
        return never(operation);
    }
  };
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of operations) {
    const described = describedOperation(operation);
    if (!described) continue;
    const path = operation.path.replace(/:(\w+)/g, '{$1}').replace('*', '{provider}');
    const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
      name,
      in: 'path',
      required: true,
      schema: name === 'id' ? { type: 'integer', minimum: 1 } : { type: 'string' },
    }));
    paths[path] = {
      ...(parameters.length > 0 ? { parameters } : {}),
      ...paths[path],
      [operation.method.toLowerCase()]: described,
    };
  }
  return {
    openapi: '3.1.0',
    info: { title, version, description: head },
    servers: [{ url: server }],
    security: [{}, { bearer: [] }],
    tags: tagsOf(operations),
    paths,
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API token, the JWT of a user, or an administrator’s token.',
        },
      },
      responses: errorResponses(),
      headers: {
        ETag: { description: 'The entity tag, for `If-None-Match` and `If-Match`.', schema: { type: 'string' } },
      },
      schemas: { Error: errorSchema, ...schemas.all() },
    },
  };
};

const head = `Attributes are in a response if \`fields\` asks for them (all scalar ones by default), relations, media, components
and dynamic zones if \`populate\` does. Queries are written with brackets:
\`?fields[0]=title&populate[author][fields]=name&filters[author][name][$contains]=a&sort=title:desc&pagination[page]=2\`.`;

const tagsOf = (operations: readonly Operation[]): readonly unknown[] =>
  [...new Set(operations.map(tagOf))].map((name) => ({ name }));

const tagOf = (operation: Operation): string => {
  if (operation.kind !== 'fixed') return operation.type.singular;
  if (/^\/_dovetail\/(?:folders|files)/.test(operation.name)) return 'files';
  if (operation.name.startsWith('/_dovetail')) return 'server';
  if (operation.name.startsWith('/admin')) return 'administrators';
  if (operation.name.startsWith('/upload')) return 'files';
  if (operation.name.startsWith('/i18n')) return 'locales';
  return operation.name.startsWith('/users-permissions') ? 'roles' : 'users';
};

// ---- content

const contentOperation = (operation: ContentOperation, schemas: Schemas): JsonSchema => {
  const { type, action, isCustom } = operation;
  const common = { tags: [tagOf(operation)], operationId: `${action}_${type.uid.replace(/[^A-Za-z0-9]+/g, '_')}` };
  if (isCustom)
    return {
      ...common,
      description: 'Answered by code of the project.',
      responses: { default: { description: 'Anything' } },
    };
  const shown = schemas.ref('entry', type);
  const list = object({ data: listOf(shown), meta: object({ pagination }, ['pagination']) }, ['data', 'meta']);
  const one = object({ data: nullable(shown), meta: object({}) }, ['data', 'meta']);
  const isRead = action === 'find' || action === 'findOne' || action === 'single';
  const responses = {
    200: response(
      responseOf(action, type, { list, one, bare: schemas.ref(schemas.format === 'v5' ? 'entry' : 'bare', type) }),
      isRead ? 'The content' : 'The entry',
    ),
    ...(isRead ? { 304: { description: 'Not changed since the `ETag` in `If-None-Match`' } } : {}),
    ...errorsOf([
      'BadRequest',
      'Unauthorized',
      'Forbidden',
      ...(action === 'find' || action === 'create' ? [] : ['NotFound']),
    ]),
    ...(isRead || action === 'create' ? {} : errorsOf(['PreconditionFailed'])),
    ...(isRead ? {} : errorsOf(['PayloadTooLarge'])),
  };
  return {
    ...common,
    summary: summaryOf(action, type),
    parameters: [formatHeader(schemas.format), ...parametersOf(action, type, schemas)],
    ...bodyOf(action, type, schemas),
    responses,
  };
};

const responseOf = (
  action: ContentOperation['action'],
  type: EntryType,
  { list, one, bare }: { readonly list: JsonSchema; readonly one: JsonSchema; readonly bare: JsonSchema },
): JsonSchema => {
  switch (action) {
    case 'find':
      return list;
    case 'single':
      // every locale of a localized one is a list without pages
      return type.localized
        ? { anyOf: [one, { ...list, properties: { ...(list['properties'] as object), meta: object({}) } }] }
        : one;
    case 'createLocalization':
      return bare;
    case 'findOne':
    case 'create':
    case 'update':
    case 'delete':
      return one;
    default:
      return never(action);
  }
};

const formatHeader = (format: EntryFormat): JsonSchema => ({
  name: 'Strapi-Response-Format',
  in: 'header',
  ...(format === 'v5'
    ? { required: true, schema: { const: 'v5' } }
    : {
        schema: { enum: ['v4', 'v5'], default: 'v4' },
        description:
          'How entries are written. This document describes v4; asked for with this header, it describes v5.',
      }),
});

const summaryOf = (action: ContentOperation['action'], { singular, plural }: EntryType): string => {
  switch (action) {
    case 'find':
      return `Find ${plural}`;
    case 'findOne':
    case 'single':
      return `Find ${action === 'findOne' ? 'one ' : ''}${singular}`;
    case 'create':
      return `Create a ${singular}`;
    case 'update':
      return `Change a ${singular}`;
    case 'delete':
      return `Delete a ${singular}`;
    case 'createLocalization':
      return `Add a ${singular} in another locale`;
    default:
      return never(action);
  }
};

const parameter = (name: string, schema: JsonSchema, description: string): JsonSchema => ({
  name,
  in: 'query',
  description,
  schema,
  ...(schema['type'] === 'object' || schema['$ref'] !== undefined ? { style: 'deepObject', explode: true } : {}),
});

/** What is shown of entries. */
const shownParameters = (type: EntryType, schemas: Schemas): readonly JsonSchema[] => [
  parameter(
    'fields',
    namesOrList(['*', ...schemas.idNames(type), ...schemas.selectable(type)]),
    'Fields to show; all by default.',
  ),
  parameter('populate', schemas.ref('populate', type), 'Relations, media, components and zones to show.'),
];

const filterParameters = (type: EntryType, schemas: Schemas): readonly JsonSchema[] => [
  parameter('filters', schemas.ref('filters', type), 'Which entries.'),
  parameter('_q', { type: 'string' }, 'Entries that contain the text.'),
];

const stateParameters = (schemas: Schemas): readonly JsonSchema[] => [
  parameter('publicationState', publicationState, '`preview` shows drafts too.'),
  ...(schemas.format === 'v5' ? [parameter('status', status, '`draft` shows drafts too.')] : []),
];

const ifNoneMatch: JsonSchema = { name: 'If-None-Match', in: 'header', schema: { type: 'string' } };

const windowOperation = (
  { type, attribute, path }: WindowOperation,
  target: EntryType,
  schemas: Schemas,
): JsonSchema => ({
  tags: [type.singular],
  operationId: `window_${path.replace(/[^A-Za-z0-9]+/g, '_')}`,
  summary: `Find a part of the ${attribute.name} of a ${type.singular}, in their order`,
  parameters: [
    formatHeader(schemas.format),
    ...shownParameters(target, schemas),
    ...filterParameters(target, schemas),
    ...windowParameters(type, target.draftAndPublish, schemas),
  ],
  responses: windowResponses(schemas.ref('entry', target)),
});

/** Paths that a description names. */
const LISTED_MAX = 50;

const partWindowOperation = ({ type, path, lists }: PartWindowOperation, schemas: Schemas): JsonSchema => {
  const listed = lists.slice(0, LISTED_MAX).map((it) => `\`${it}\``);
  const others = lists.length > LISTED_MAX ? ' and others' : '';
  return {
    tags: [type.singular],
    operationId: `window_${path.replace(/[^A-Za-z0-9]+/g, '_')}`,
    summary: `Find a part of a relation list in a component of a ${type.singular}, in its order`,
    parameters: [
      {
        name: 'path',
        in: 'path',
        required: true,
        schema: { type: 'string' },
        description: `Where the list is, with the ids of the components around it; its slashes are not encoded: ${listed.join(', ')}${others}.`,
      },
      formatHeader(schemas.format),
      parameter('fields', { anyOf: [{ type: 'string' }, listOf({ type: 'string' })] }, 'Attributes to show.'),
      parameter('populate', {}, 'Relations, media and components to show.'),
      parameter('filters', { type: 'object' }, 'Which entries.'),
      parameter('_q', { type: 'string' }, 'Entries that contain the text.'),
      ...windowParameters(type, true, schemas),
    ],
    responses: windowResponses({ type: 'object' }),
  };
};

const windowParameters = (type: EntryType, hasDrafts: boolean, schemas: Schemas): readonly JsonSchema[] => [
  parameter('pagination', pageParameters, 'Which part of the list.'),
  ...(type.draftAndPublish || hasDrafts ? stateParameters(schemas) : []),
  ...(type.kind === 'single' && type.localized
    ? [parameter('locale', { type: 'string' }, 'A locale; the default one without it.')]
    : []),
  ifNoneMatch,
];

const windowResponses = (entry: JsonSchema): JsonSchema => {
  const meta = object(
    {
      pagination: object({ start: count, limit: count, total: count }, ['start', 'limit', 'total']),
      positions: { ...listOf(count), description: 'Places in the whole list, from 0.' },
      etag: { type: 'string', description: 'For `If-Match` of a change of the entry.' },
    },
    ['pagination', 'positions'],
  );
  return {
    200: response(object({ data: listOf(entry), meta }, ['data', 'meta']), 'The content'),
    304: { description: 'Not changed since the `ETag` in `If-None-Match`' },
    ...errorsOf(['BadRequest', 'Unauthorized', 'Forbidden', 'NotFound']),
  };
};

const parametersOf = (action: ContentOperation['action'], type: EntryType, schemas: Schemas): readonly JsonSchema[] => {
  const shown = shownParameters(type, schemas);
  const locale = parameter(
    'locale',
    { anyOf: [{ type: 'string' }, listOf({ type: 'string' })] },
    'A locale, or `all`; the default locale without it.',
  );
  const states = stateParameters(schemas);
  const newState =
    schemas.format === 'v5' ? [parameter('status', status, '`draft` creates a draft; published without it.')] : [];
  const match = { in: 'header', schema: { type: 'string' } };
  switch (action) {
    case 'find':
      return [
        ...shown,
        ...filterParameters(type, schemas),
        parameter('sort', sortSchema(schemas.sortable(type)), 'By which attributes; `:asc` or `:desc`.'),
        parameter('pagination', pageParameters, 'Which part of the list.'),
        ...(type.draftAndPublish ? states : []),
        ...(type.localized ? [locale] : []),
        ifNoneMatch,
      ];
    case 'findOne':
    case 'single':
      return [
        ...shown,
        ...(type.draftAndPublish ? states : []),
        ...(type.localized && action === 'single' ? [locale] : []),
        ifNoneMatch,
      ];
    case 'create':
      return [
        ...shown,
        ...(type.draftAndPublish ? newState : []),
        ...(type.localized && schemas.format === 'v5' ? [locale] : []),
      ];
    case 'update':
    case 'delete':
      return [
        ...shown,
        ...(type.localized && type.kind === 'single' ? [locale] : []),
        { name: 'If-Match', ...match, description: 'Only if the entry has not changed since.' },
      ];
    case 'createLocalization':
      return [];
    default:
      return never(action);
  }
};

const bodyOf = (action: ContentOperation['action'], type: EntryType, schemas: Schemas): object => {
  switch (action) {
    case 'find':
    case 'findOne':
    case 'single':
    case 'delete':
      return {};
    case 'create':
      return { requestBody: entryBody(schemas.ref('new', type)) };
    case 'update':
      return { requestBody: entryBody(schemas.ref('change', type)) };
    case 'createLocalization':
      return { requestBody: jsonBody({ ...schemas.ref('change', type), required: ['locale'] }) };
    default:
      return never(action);
  }
};

const jsonBody = (schema: JsonSchema): JsonSchema => ({ required: true, content: { 'application/json': { schema } } });

/** Forms hold the same as JSON in `data`, and files by the names of media attributes. */
const entryBody = (data: JsonSchema): JsonSchema => ({
  required: true,
  content: {
    'application/json': { schema: object({ data }, ['data']) },
    'multipart/form-data': {
      schema: {
        type: 'object',
        properties: { data: { type: 'string', contentMediaType: 'application/json' } },
        required: ['data'],
        patternProperties: { '^files\\.': {} },
      },
    },
  },
});

const pageParameters: JsonSchema = object({
  page: { type: 'integer', minimum: 1, default: 1 },
  pageSize: { type: 'integer', minimum: 1 },
  start: { type: 'integer', minimum: 0 },
  limit: { type: 'integer' },
  withCount: { type: 'boolean', default: true },
});

const count: JsonSchema = { type: 'integer', minimum: 0 };
const pagination: JsonSchema = {
  oneOf: [
    object({ page: count, pageSize: count, pageCount: count, total: count }, ['page', 'pageSize']),
    object({ start: count, limit: { type: 'integer' }, total: count }, ['start', 'limit']),
  ],
};

// ---- users, files and locales

/** What each does, by method and path. */
const fixedOperations = (model: Model, schemas: Schemas): ((operation: FixedOperation) => JsonSchema | null) => {
  const [user, file] = [typeOf(model, USER_UID), typeOf(model, FILE_UID)];
  const [shownUser, shownFile] = [schemas.ref('bare', user), schemas.ref('bare', file)];
  const text: JsonSchema = { type: 'string' };
  const login = object({ jwt: text, user: shownUser }, ['jwt', 'user']);
  const done = object({ ok: { type: 'boolean' } }, ['ok']);
  const role = {
    type: 'object',
    properties: { id: count, name: text, description: {}, type: {} },
    required: ['id', 'name'],
  };
  const passwords = { password: text, passwordConfirmation: text };
  const locale = object(
    {
      id: count,
      name: nullable(text),
      code: nullable(text),
      createdAt: nullable(text),
      updatedAt: nullable(text),
      isDefault: { type: 'boolean' },
    },
    ['id', 'code', 'isDefault'],
  );
  const upload: JsonSchema = {
    required: true,
    content: {
      'multipart/form-data': {
        schema: {
          type: 'object',
          properties: {
            files: { anyOf: [{ type: 'string', format: 'binary' }, listOf({ type: 'string', format: 'binary' })] },
            fileInfo: { type: 'string', contentMediaType: 'application/json' },
            ref: text,
            refId: text,
            field: text,
          },
        },
      },
    },
  };
  const adminRole = object({ id: count, name: text, code: text });
  const adminFields = {
    id: count,
    firstname: nullable(text),
    lastname: nullable(text),
    email: text,
    roles: listOf(adminRole),
  };
  const admin = object(adminFields);
  const yesNo: JsonSchema = { type: 'boolean' };
  const listedAdminFields = { ...adminFields, isActive: yesNo, blocked: yesNo };
  const listedAdmin = object(listedAdminFields, ['isActive', 'blocked']);
  const shownOnce = { registrationToken: text, registrationTokenExpiresAt: text };
  const signedIn = object({ token: text, expiresAt: text, user: admin });
  const tokenFields = {
    id: count,
    name: text,
    description: text,
    type: { enum: ['read-only', 'full-access', 'custom'] },
    permissions: listOf(text),
    lastUsedAt: nullable(text),
    expiresAt: nullable(text),
    lifespan: nullable(count),
    createdAt: nullable(text),
    updatedAt: nullable(text),
  };
  const token: JsonSchema = object(tokenFields);
  const newToken = object({ ...tokenFields, accessKey: text }, ['accessKey']);
  const tokenBody = jsonBody({
    type: 'object',
    properties: {
      name: text,
      description: text,
      type: { enum: ['read-only', 'full-access', 'custom'] },
      lifespan: nullable(count),
      permissions: nullable(listOf(text)),
    },
  });
  const adminBody = jsonBody({
    type: 'object',
    properties: {
      email: text,
      password: text,
      firstname: nullable(text),
      lastname: nullable(text),
      roles: listOf(count),
      isActive: { type: 'boolean' },
      blocked: { type: 'boolean' },
    },
  });
  const data = (schema: JsonSchema): JsonSchema => object({ data: schema }, ['data']);
  interface Described {
    readonly summary: string;
    readonly answer: JsonSchema;
    readonly body?: JsonSchema;
    readonly status?: 200 | 201;
  }
  const all: Readonly<Record<string, Described>> = {
    'POST /auth/local': {
      summary: 'Log in',
      body: jsonBody(object({ identifier: text, password: text }, ['identifier', 'password'])),
      answer: login,
    },
    'POST /auth/local/register': {
      summary: 'Create a user for oneself',
      body: jsonBody({
        type: 'object',
        properties: { username: text, email: text, password: text },
        required: ['username', 'email', 'password'],
      }),
      answer: { anyOf: [login, object({ user: shownUser }, ['user'])] },
    },
    'POST /auth/forgot-password': {
      summary: 'Ask for a mail with a code',
      body: jsonBody({ type: 'object', properties: { email: text }, required: ['email'] }),
      answer: done,
    },
    'POST /auth/reset-password': {
      summary: 'Set a password with a code',
      body: jsonBody({ type: 'object', properties: { code: text, ...passwords } }),
      answer: login,
    },
    'POST /auth/change-password': {
      summary: 'Change the own password',
      body: jsonBody({ type: 'object', properties: { currentPassword: text, ...passwords } }),
      answer: login,
    },
    'POST /auth/send-email-confirmation': {
      summary: 'Ask for a mail that confirms an address',
      body: jsonBody({ type: 'object', properties: { email: text }, required: ['email'] }),
      answer: object({ email: text, sent: { type: 'boolean' } }, ['email', 'sent']),
    },
    'GET /users': { summary: 'Find users', answer: listOf(shownUser) },
    'POST /users': { summary: 'Create a user', body: jsonBody({ type: 'object' }), answer: shownUser, status: 201 },
    'GET /users/count': { summary: 'Count users', answer: count },
    'GET /users/me': { summary: 'Find the own user', answer: shownUser },
    'GET /users/:id': { summary: 'Find a user', answer: shownUser },
    'PUT /users/:id': { summary: 'Change a user', body: jsonBody({ type: 'object' }), answer: shownUser },
    'DELETE /users/:id': { summary: 'Delete a user', answer: shownUser },
    'GET /users-permissions/roles': {
      summary: 'Find roles',
      answer: object({ roles: listOf(role) }, ['roles']),
    },
    'POST /users-permissions/roles': { summary: 'Create a role', body: jsonBody({ type: 'object' }), answer: done },
    'GET /users-permissions/roles/:id': { summary: 'Find a role', answer: object({ role }, ['role']) },
    'PUT /users-permissions/roles/:id': {
      summary: 'Change a role',
      body: jsonBody({ type: 'object' }),
      answer: done,
    },
    'DELETE /users-permissions/roles/:id': { summary: 'Delete a role', answer: done },
    'GET /users-permissions/permissions': {
      summary: 'Find all actions',
      answer: object({ permissions: { type: 'object' } }, ['permissions']),
    },
    'POST /upload': {
      summary: 'Upload files; with `?id=`, change one',
      body: upload,
      answer: { anyOf: [listOf(shownFile), shownFile] },
    },
    'GET /upload/files': { summary: 'Find files', answer: listOf(shownFile) },
    'GET /upload/files/count': { summary: 'Count files', answer: count },
    'GET /upload/files/:id': { summary: 'Find a file', answer: shownFile },
    'DELETE /upload/files/:id': { summary: 'Delete a file', answer: shownFile },
    'POST /_dovetail/explain': {
      summary: 'Explain what a URL reads',
      body: jsonBody({
        type: 'object',
        properties: { url: text, analyze: { type: 'boolean' } },
        required: ['url'],
        additionalProperties: false,
      }),
      answer: object({ data: { type: 'object', required: ['forbidden', 'selection', 'plan', 'statements'] } }, [
        'data',
      ]),
    },
    'GET /_dovetail/health': {
      summary: 'Look at the state of the server',
      answer: object({ data: { type: 'object', required: ['version', 'checks', 'webhooks', 'ignored'] } }, ['data']),
    },
    'GET /_dovetail/folders': { summary: 'Find folders', answer: object({ data: listOf(folder) }, ['data']) },
    'POST /_dovetail/folders': {
      summary: 'Create a folder',
      body: jsonBody(folderBody),
      answer: object({ data: folder }, ['data']),
      status: 201,
    },
    'PUT /_dovetail/folders/:id': {
      summary: 'Rename or move a folder',
      body: jsonBody(folderBody),
      answer: object({ data: folder }, ['data']),
    },
    'DELETE /_dovetail/folders/:id': { summary: 'Delete a folder', answer: object({ data: {} }, ['data']) },
    'GET /_dovetail/files/:id/uses': {
      summary: 'Find where a file is used',
      answer: object({ data: listOf({ type: 'object' }), meta: object({ total: count }, ['total']) }, ['data', 'meta']),
    },
    'GET /_dovetail/entries/:type/:id/unseen': {
      summary: 'Find the relations of an entry that hold entries which the administrator may not see',
      answer: object({ data: listOf(text) }, ['data']),
    },
    'GET /_dovetail/model': {
      summary: 'Find the model, as the caller may know it',
      answer: object({ data: modelSchema }, ['data']),
    },
    'POST /admin/login': {
      summary: 'Sign in as an administrator',
      body: jsonBody(object({ email: text, password: text }, ['email', 'password'])),
      answer: data(signedIn),
    },
    'POST /admin/refresh': {
      summary: 'Continue the session of the cookie; needs the header Dovetail-Studio: 1',
      answer: data(signedIn),
    },
    'POST /admin/logout': {
      summary: 'End the session of the cookie; needs the header Dovetail-Studio: 1',
      answer: data({ type: 'object' }),
    },
    'POST /admin/register': {
      summary: 'Register, as the first administrator or by a one-time link',
      body: jsonBody({
        anyOf: [
          object({ key: text, email: text, password: text, firstname: nullable(text), lastname: nullable(text) }, [
            'key',
            'email',
            'password',
          ]),
          object(
            {
              registrationToken: text,
              userInfo: object({ password: text, firstname: nullable(text), lastname: nullable(text) }, ['password']),
            },
            ['registrationToken', 'userInfo'],
          ),
        ],
      }),
      answer: data(signedIn),
    },
    'GET /admin/me': {
      summary: 'Find who is signed in, with their permissions',
      answer: data(object({ ...adminFields, isSuperAdmin: yesNo, permissions: listOf({ type: 'object' }) })),
    },
    'GET /admin/init': {
      summary: 'Find whether there is an administrator',
      answer: data(
        object({
          hasAdmin: { type: 'boolean' },
          mode: { enum: ['development', 'production'] },
          mayRegister: { type: 'boolean' },
        }),
      ),
    },
    'GET /admin/api-tokens': { summary: 'Find API tokens', answer: data(listOf(token)) },
    'POST /admin/api-tokens': { summary: 'Make an API token', body: tokenBody, answer: data(newToken), status: 201 },
    'GET /admin/api-tokens/:id': { summary: 'Find an API token', answer: data(token) },
    'PUT /admin/api-tokens/:id': { summary: 'Change an API token', body: tokenBody, answer: data(token) },
    'DELETE /admin/api-tokens/:id': { summary: 'Revoke an API token', answer: data(token) },
    'POST /admin/api-tokens/:id/regenerate': { summary: 'Make another key for a token', answer: data(newToken) },
    'GET /admin/users': { summary: 'Find administrators', answer: data(listOf(listedAdmin)) },
    'POST /admin/users': {
      summary: 'Create an administrator; without a password, with the token of a one-time link',
      body: adminBody,
      answer: data(object({ ...listedAdminFields, ...shownOnce })),
      status: 201,
    },
    'PUT /admin/users/me': {
      summary: 'Change your own account; a new password or e-mail address needs the current password',
      body: jsonBody({
        type: 'object',
        properties: {
          firstname: nullable(text),
          lastname: nullable(text),
          email: text,
          password: text,
          currentPassword: text,
        },
        additionalProperties: false,
      }),
      answer: data(listedAdmin),
    },
    'PUT /admin/users/:id': { summary: 'Update an administrator', body: adminBody, answer: data(listedAdmin) },
    'DELETE /admin/users/:id': { summary: 'Delete an administrator', answer: data(listedAdmin) },
    'POST /admin/users/:id/registration-token': {
      summary: 'Create a one-time link for an administrator to choose a password',
      answer: data(object(shownOnce)),
    },
    'GET /admin/roles': { summary: 'Find the roles of administrators', answer: data(listOf(adminRole)) },
    'GET /i18n/locales': { summary: 'Find the locales', answer: listOf(locale) },
  };
  return (operation) => {
    const described = all[`${operation.method} ${operation.name}`];
    if (!described) return null;
    const { summary, body, answer, status = 200 } = described;
    return {
      tags: [tagOf(operation)],
      operationId: `${operation.method.toLowerCase()}${operation.name.replace(/[^A-Za-z0-9]+/g, '_')}`,
      summary,
      ...(body ? { requestBody: body } : {}),
      responses: {
        [status]: response(answer, 'Done'),
        ...errorsOf(['BadRequest', 'Unauthorized', 'Forbidden', 'NotFound', 'TooManyRequests']),
      },
    };
  };
};

const folderBody: JsonSchema = {
  type: 'object',
  properties: { name: { type: 'string' }, parent: nullable({ type: 'integer' }) },
};
const folder: JsonSchema = { type: 'object', required: ['id', 'name', 'path', 'parent'] };

/** `ModelDocument`, roughly. */
const modelSchema: JsonSchema = {
  type: 'object',
  properties: {
    version: nullable({ type: 'string' }),
    prefix: { type: 'string' },
    rest: { type: 'object' },
    strict: { type: 'boolean' },
    locales: listOf({ type: 'object' }),
    types: listOf({
      type: 'object',
      properties: {
        uid: { type: 'string' },
        kind: { enum: ['collection', 'single', 'component'] },
        path: nullable({ type: 'string' }),
        may: { type: 'object', additionalProperties: { type: 'boolean' } },
        attributes: listOf({
          type: 'object',
          required: ['name', 'kind', 'type', 'mayRead', 'mayWrite', 'mayCreate', 'mayUpdate'],
        }),
      },
      required: ['uid', 'kind', 'path', 'may', 'attributes'],
    }),
  },
  required: ['version', 'prefix', 'rest', 'strict', 'locales', 'types'],
};

// ---- responses

const response = (schema: JsonSchema, description: string): JsonSchema => ({
  description,
  headers: { ETag: { $ref: '#/components/headers/ETag' } },
  content: { 'application/json': { schema } },
});

/** By name: status and description. */
const errors = {
  BadRequest: [400, 'The request breaks a rule; `details.errors` names each with its place'],
  Unauthorized: [401, 'The token is unknown or has expired'],
  Forbidden: [403, 'The role of the caller may not do this'],
  NotFound: [404, 'There is no such entry'],
  PreconditionFailed: [412, 'The entry has changed since the `ETag` in `If-Match`'],
  PayloadTooLarge: [413, `The body is longer than ${limits.bodyBytesMax} bytes`],
  TooManyRequests: [429, 'Too many attempts'],
} as const satisfies Record<string, readonly [status: number, description: string]>;

const errorsOf = (names: readonly string[]): object =>
  Object.fromEntries(
    names.map((it) => [errors[it as keyof typeof errors][0], { $ref: `#/components/responses/${it}` }]),
  );

const errorResponses = (): object =>
  Object.fromEntries(
    Object.entries(errors).map(([name, [, description]]) => [
      name,
      { description, content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } } },
    ]),
  );

/** The envelope of every error (ER1). */
const errorSchema: JsonSchema = object(
  {
    data: { type: 'null' },
    error: object(
      {
        status: { type: 'integer' },
        name: { enum: Object.keys(statusOf) },
        message: { type: 'string' },
        details: {
          type: 'object',
          properties: {
            errors: listOf(
              object(
                {
                  path: listOf({ type: 'string' }),
                  message: { type: 'string' },
                  name: { enum: Object.keys(statusOf) },
                  code: { enum: Object.keys(issueKinds) },
                },
                ['path', 'message', 'name', 'code'],
              ),
            ),
          },
        },
      },
      ['status', 'name', 'message', 'details'],
    ),
  },
  ['data', 'error'],
);
