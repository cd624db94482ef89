/** What is said about schema files: a fault stops the start, a warning names what v4 starts with too. */

export interface SchemaNote {
  /** Relative to the project folder. */
  readonly file: string;
  /** Place in the file: `attributes.author.target`; empty: the whole file. */
  readonly place: string;
  readonly message: string;
}

export const sayNote = ({ file, place, message }: SchemaNote): string =>
  `${file}${place === '' ? '' : `: ${place}`}: ${message}`;

/** Collects what is said, so that everything is told at once. */
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
