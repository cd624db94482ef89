/** What the control of a scalar attribute is given, whatever its kind. */
import type { Attribute, Type } from '../../../model/model.js';
import type { FieldPath, Json, ScalarField } from '../form/fields.js';
import type { Frame } from './Framed.js';

export interface ScalarProps {
  readonly attribute: Attribute;
  readonly owner: Type;
  readonly path: FieldPath;
  readonly field: ScalarField;
  readonly onChange: (field: ScalarField) => void;
  readonly readOnly: boolean;
  readonly frame: Frame;
  /** The value that a uid is made from. */
  readonly target: Json | undefined;
}
