/** A migration that cannot be planned or applied; the message says what to do. */
export class MigrationFault extends Error {}
