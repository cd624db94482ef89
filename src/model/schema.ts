/** The form of schema files, as v4 writes them; keys that nobody asks for are let through. */
import { z } from 'zod';
import { isScalarTypeName, scalarTypes } from './attributes.js';

const name = z.string().min(1);
const count = z.int().min(0);
const base = { private: z.boolean().optional(), required: z.boolean().optional() };
const scalarRules = {
  ...base,
  unique: z.boolean().optional(),
  writable: z.boolean().optional(),
  searchable: z.boolean().optional(),
  min: z.union([z.number(), z.string()]).optional(),
  max: z.union([z.number(), z.string()]).optional(),
  minLength: count.optional(),
  maxLength: count.optional(),
  regex: z.string().optional(),
  enum: z.array(z.string()).optional(),
  default: z.unknown().optional(),
  targetField: z.string().optional(),
  encryption: z.looseObject({ rounds: z.int().min(4).max(31).optional() }).optional(),
};
export const relations = ['oneToOne', 'oneToMany', 'manyToOne', 'manyToMany'] as const;
export const morphs = ['morphToOne', 'morphToMany', 'morphOne', 'morphMany'] as const;
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
  allowedTypes: z.array(z.string()).nullish(),
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
