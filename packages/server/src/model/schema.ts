/** The form of schema files, as v4 writes them; keys that nobody asks for are let through. */
import { z } from 'zod';
import { isScalarTypeName, type ScalarRules, scalarTypes } from './attributes.js';
import { rulesOf } from './model.js';

const name = z.string().min(1);
const count = z.int().min(0);
const base = { private: z.boolean().optional(), required: z.boolean().optional() };
const scalarRules = {
  ...base,
  unique: z.boolean().optional(),
  writable: z.boolean().optional(),
  searchable: z.boolean().optional(),
  min: z.union([z.number(), z.string()]).nullish(),
  max: z.union([z.number(), z.string()]).nullish(),
  minLength: count.nullish(),
  maxLength: count.nullish(),
  regex: z.string().nullish(),
  enum: z.array(z.string()).optional(),
  default: z.unknown().optional(),
  targetField: z.string().optional(),
  encryption: z.looseObject({ rounds: z.int().min(4).max(31).optional() }).optional(),
};
export const relations = ['oneToOne', 'oneToMany', 'manyToOne', 'manyToMany'] as const;
export const morphs = ['morphToOne', 'morphToMany', 'morphOne', 'morphMany'] as const;
const mediaTypes = ['images', 'videos', 'files', 'audios'] as const;
export const attributeTypes = [...Object.keys(scalarTypes), 'relation', 'media', 'component', 'dynamiczone'];

export const scalarSchema = z.looseObject({ type: z.string().refine(isScalarTypeName), ...scalarRules });
export const relationSchema = z.looseObject({
  type: z.literal('relation'),
  relation: z.enum(relations),
  target: name,
  inversedBy: name.nullish(),
  mappedBy: name.nullish(),
  useJoinTable: z.boolean().optional(),
  ...base,
});
export const morphSchema = z.looseObject({ type: z.literal('relation'), relation: z.enum(morphs), ...base });
export const mediaSchema = z.looseObject({
  type: z.literal('media'),
  multiple: z.boolean().optional(),
  allowedTypes: z.array(z.enum(mediaTypes)).nullish(),
  ...base,
});
export const componentSchema = z.looseObject({
  type: z.literal('component'),
  component: name,
  repeatable: z.boolean().optional(),
  min: count.nullish(),
  max: count.nullish(),
  ...base,
});
export const zoneSchema = z.looseObject({
  type: z.literal('dynamiczone'),
  components: z.array(name),
  min: count.nullish(),
  max: count.nullish(),
  ...base,
});

const attributeSchema = z.union([scalarSchema, relationSchema, morphSchema, mediaSchema, componentSchema, zoneSchema]);
export type AttributeFile = z.input<typeof attributeSchema>;
export type ScalarFile = z.infer<typeof scalarSchema>;

export const readRules = (it: ScalarFile): ScalarRules =>
  rulesOf({
    required: it.required === true,
    unique: it.unique === true,
    writable: it.writable !== false,
    min: it.min ?? null,
    max: it.max ?? null,
    minLength: it.minLength ?? null,
    maxLength: it.maxLength ?? null,
    regex: it.regex ?? null,
    values: it.enum ?? [],
    defaultValue: it.default,
    targetField: it.targetField ?? null,
    hashRounds: it.encryption?.rounds ?? 10,
  });

const options = z.looseObject({
  draftAndPublish: z.boolean().optional(),
  populateCreatorFields: z.boolean().optional(),
  privateAttributes: z.array(z.string()).optional(),
});

export const contentTypeSchema = z.looseObject({
  kind: z.enum(['collectionType', 'singleType']),
  collectionName: name.optional(),
  info: z.looseObject({ singularName: name, pluralName: name }),
  options: options.optional(),
  pluginOptions: z.looseObject({ i18n: z.looseObject({ localized: z.boolean().optional() }).optional() }).optional(),
  attributes: z.record(z.string(), z.unknown()),
});
export const componentFileSchema = z.looseObject({
  collectionName: name,
  options: options.optional(),
  attributes: z.record(z.string(), z.unknown()),
});

export type SchemaOptions = z.infer<typeof options>;

/** A content type's schema file with the attributes still to be read. */
export interface SchemaFile {
  readonly kind: 'collectionType' | 'singleType';
  readonly collectionName?: string | undefined;
  readonly info: { readonly singularName: string; readonly pluralName: string; readonly [other: string]: unknown };
  readonly options?: SchemaOptions | undefined;
  readonly pluginOptions?: { readonly i18n?: { readonly localized?: boolean | undefined } | undefined } | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
}
