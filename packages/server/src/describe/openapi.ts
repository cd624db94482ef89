/**
 * The content API as an OpenAPI 3.1 document, for one caller: the paths that they may use, with what they may see. It is
 * exact where JSON Schema can be: an attribute that is not in the document is in no response and in no body.
 */
import { issueKinds, never, statusOf } from '../errors.js';
import { limits } from '../limits.js';
import { type EntryType, FILE_UID, type Model, typeOf, USER_UID } from '../model/model.js';
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

/** One of users, files and locales. */
export interface FixedOperation {
  readonly kind: 'fixed';
  readonly method: string;
  readonly path: string;
  /** The same without the prefix, which tells what it does: `/auth/local`. */
  readonly name: string;
}

export type Operation = ContentOperation | FixedOperation;

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
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of operations) {
    const described = operation.kind === 'content' ? contentOperation(operation, schemas) : fixed(operation);
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
        bearer: { type: 'http', scheme: 'bearer', description: 'An API token, or the JWT of a user.' },
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
  if (operation.kind === 'content') return operation.type.singular;
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

const parametersOf = (action: ContentOperation['action'], type: EntryType, schemas: Schemas): readonly JsonSchema[] => {
  const parameter = (name: string, schema: JsonSchema, description: string): JsonSchema => ({
    name,
    in: 'query',
    description,
    schema,
    ...(schema['type'] === 'object' || schema['$ref'] !== undefined ? { style: 'deepObject', explode: true } : {}),
  });
  const shown = [
    parameter(
      'fields',
      namesOrList(['*', ...schemas.idNames(type), ...schemas.selectable(type)]),
      'Fields to show; all by default.',
    ),
    parameter('populate', schemas.ref('populate', type), 'Relations, media, components and zones to show.'),
  ];
  const locale = parameter(
    'locale',
    { anyOf: [{ type: 'string' }, listOf({ type: 'string' })] },
    'A locale, or `all`; the default locale without it.',
  );
  const states = [
    parameter('publicationState', publicationState, '`preview` shows drafts too.'),
    ...(schemas.format === 'v5' ? [parameter('status', status, '`draft` shows drafts too.')] : []),
  ];
  const newState =
    schemas.format === 'v5' ? [parameter('status', status, '`draft` creates a draft; published without it.')] : [];
  const match = { in: 'header', schema: { type: 'string' } };
  switch (action) {
    case 'find':
      return [
        ...shown,
        parameter('filters', schemas.ref('filters', type), 'Which entries.'),
        parameter('sort', sortSchema(schemas.sortable(type)), 'By which attributes; `:asc` or `:desc`.'),
        parameter('pagination', pageParameters, 'Which part of the list.'),
        parameter('_q', { type: 'string' }, 'Entries that contain the text.'),
        ...(type.draftAndPublish ? states : []),
        ...(type.localized ? [locale] : []),
        { name: 'If-None-Match', ...match },
      ];
    case 'findOne':
    case 'single':
      return [
        ...shown,
        ...(type.draftAndPublish ? states : []),
        ...(type.localized && action === 'single' ? [locale] : []),
        { name: 'If-None-Match', ...match },
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
    'GET /upload/files/:id': { summary: 'Find a file', answer: shownFile },
    'DELETE /upload/files/:id': { summary: 'Delete a file', answer: shownFile },
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
