/** Messages about schema files: a fault prevents the start, a warning does not, as in v4. */

export interface SchemaNote {
  /** Relative to the project folder. */
  readonly file: string;
  /** Place in the file: `attributes.author.target`; empty: the whole file. */
  readonly place: string;
  readonly message: string;
}

export const formatNote = ({ file, place, message }: SchemaNote): string =>
  `${file}${place === '' ? '' : `: ${place}`}: ${message}`;

/** Collects all messages, to report them at once. */
export interface SchemaNotes {
  readonly faults: SchemaNote[];
  readonly warnings: SchemaNote[];
}

/** The notes of one file. */
export interface FileNotes {
  fault(place: string, message: string): void;
  warn(place: string, message: string): void;
}

export const notesOf = (file: string, notes: SchemaNotes): FileNotes => ({
  fault: (place, message) => {
    notes.faults.push({ file, place, message });
  },
  warn: (place, message) => {
    notes.warnings.push({ file, place, message });
  },
});
