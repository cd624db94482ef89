/** What the control of a relation is given, whatever its kind. */
import type { Attribute, Type } from '../../../model/model.js';
import type { FieldPath, RelationField } from '../form/fields.js';
import type { RelationEdit } from './relation-edit.js';

export interface RelationFieldProps {
  readonly attribute: Attribute;
  /** The type or component that has the attribute. */
  readonly type: Type;
  /** The entry that the form is about; no id: not stored yet. */
  readonly entry: { readonly type: Type; readonly id: number | null; readonly locale?: string | null };
  readonly path: FieldPath;
  readonly field: RelationField;
  /** Null: as stored. */
  readonly onChange: (edit: RelationEdit | null) => void;
  /** Why it cannot be changed, if so. */
  readonly readOnly: string | null;
  readonly faults: readonly string[];
  /** Ids of the label and of what describes the field. */
  readonly labelId: string;
  readonly describedBy: string | undefined;
  /** Whether the list has a page of its own, and the room for it. */
  readonly isPage?: boolean;
}
