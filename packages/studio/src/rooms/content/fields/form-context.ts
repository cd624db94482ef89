/** What every field of a form knows. */
import { createContext, type Dispatch, use } from 'react';
import type { Model, Type, Writing } from '../../../model/model.js';
import type { FormAction } from '../form/entry-form.js';
import type { FaultsByPath } from '../form/faults.js';
import type { FieldPath } from '../form/fields.js';

export interface FormFacts {
  readonly model: Model;
  readonly type: Type;
  /** Null: not stored yet. */
  readonly id: number | null;
  /** Of the entry; null for types without. */
  readonly locale: string | null;
  /** Why nothing can be changed, if so. */
  readonly readOnly: string | null;
  readonly writing: Writing;
  /** Whether this entry's attribute may be changed: some may be in entries of their own only. */
  readonly mayChange: (attribute: string) => boolean;
  readonly dispatch: Dispatch<FormAction>;
}

/** Stays the same object while people type, so that no field is drawn again because of another one. */
export const FormContext = createContext<FormFacts | null>(null);

export const useForm = (): FormFacts => {
  const facts = use(FormContext);
  if (facts === null) throw new Error('A field needs a form around it.');
  return facts;
};

/** Whether the component around, or one around that, may not be changed. */
export const LockedContext = createContext(false);

interface Marks {
  readonly faults: FaultsByPath;
  readonly conflicts: readonly FieldPath[];
}
export const MarksContext = createContext<Marks>({ faults: {}, conflicts: [] });

/** The ids of elements that belong to a path. */
export const elementId = (path: FieldPath, what = 'field'): string => `${what}-${path.replace(/[^\w-]/g, '_')}`;
