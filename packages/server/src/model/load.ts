/** Schema files to `Model`: read each, check them against each other, build. All faults are reported at once. */
import { buildModel } from './build.js';
import { checkDrafts } from './check.js';
import type { CustomFields } from './custom-fields.js';
import { readSchemaFiles } from './files.js';
import type { Model } from './model.js';
import type { SchemaNote } from './notes.js';
import { pairRelations } from './relations.js';
import { type Renames, undoRenames } from './renames.js';

export { formatNote, type SchemaNote } from './notes.js';

export interface LoadOptions {
  /** Attribute names hidden from all responses, on any type (configuration `api.responses.privateAttributes`). */
  readonly privateAttributes?: readonly string[];
  /** The types of custom fields by name, besides those that are known (configuration `customFields`). */
  readonly customFields?: CustomFields;
}

/** v4 starts with warnings too; each says what it means here and how to fix it. */
export type LoadedModel =
  | {
      readonly ok: true;
      readonly model: Model;
      readonly warnings: readonly SchemaNote[];
      /** The model with the same types and attributes in the same order, under their names before the renames. */
      readonly before: (renames: Renames) => Model;
    }
  | { readonly ok: false; readonly faults: readonly SchemaNote[]; readonly warnings: readonly SchemaNote[] };

/** Reads all schema files below a project folder. Faults are values; a folder that is not a project is a fault too. */
export const loadModel = (
  projectDir: string,
  { privateAttributes = [], customFields = {} }: LoadOptions = {},
): LoadedModel => {
  const notes = { faults: [] as SchemaNote[], warnings: [] as SchemaNote[] };
  const files = readSchemaFiles(projectDir, customFields, notes);
  const keeperOf = pairRelations(files.drafts);
  checkDrafts(files, keeperOf, notes);
  const faults = byFile(notes.faults);
  const warnings = byFile(notes.warnings);
  if (faults.length > 0) return { ok: false, faults, warnings };
  const before = (renames: Renames): Model => {
    const drafts = undoRenames(files.drafts, renames);
    return buildModel(drafts, pairRelations(drafts), privateAttributes);
  };
  return { ok: true, model: buildModel(files.drafts, keeperOf, privateAttributes), warnings, before };
};

const byFile = (notes: readonly SchemaNote[]): readonly SchemaNote[] =>
  notes.toSorted((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : 0));
