/** Records writes, with the entries as they are in the transaction: for webhooks in the outbox, for listeners until the commit. */
import crypto from 'node:crypto';
import { serverGate } from '../access/access.js';
import { Refusal, unwrap } from '../errors.js';
import { limits } from '../limits.js';
import { FILE_UID, type Model, typeOf } from '../model/model.js';
import { noQuery, objectQuery } from '../query/objects.js';
import type { QuerySource } from '../query/raw.js';
import type { ResolveContext } from '../query/resolve.js';
import type { Reader } from '../read/find.js';
import type { Dialect } from '../sql/dialect.js';
import { savepoint } from '../sql/savepoint.js';
import type { Recorder } from '../write/request.js';
import type { Session, WriteEvent } from '../write/session.js';
import { type EventListeners, type EventName, eventsOf } from './events.js';
import { insertDeliveries, type NewDelivery } from './outbox.js';
import type { Webhook } from './webhooks.js';

export interface RecorderDeps {
  readonly model: Model;
  readonly reader: Reader;
  readonly dialect: Dialect;
  readonly settings: Pick<ResolveContext, 'rest'>;
  /** Those that are told. */
  readonly webhooks: () => readonly Webhook[];
  readonly listeners?: EventListeners | undefined;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /** Called once recorded deliveries are committed. */
  readonly onRecorded: () => void;
}

export const newRecorder = ({
  model,
  reader,
  dialect,
  settings,
  webhooks,
  listeners,
  now,
  onRecorded,
}: RecorderDeps): Recorder => {
  const context: ResolveContext = { ...settings, model, gate: serverGate, strict: true, defaultLocale: null };
  const recorded = new WeakSet<Session>();
  /** Entries that listeners will be told of, as JSON, by the event: what a savepoint undoes leaves the session's events. */
  const told = new WeakMap<Session, Map<WriteEvent, string>>();
  const webhooksOf = (name: EventName): readonly Webhook[] => webhooks().filter((it) => it.events.includes(name));
  const isForListeners = (event: WriteEvent): boolean =>
    listeners?.isListening() === true && !event.isOfUpload && eventsOf(event).some((name) => listeners.hears(name));
  const isHeard = (event: WriteEvent): boolean =>
    !event.isUntold && (eventsOf(event).some((name) => webhooksOf(name).length > 0) || isForListeners(event));

  const read = async (event: WriteEvent, query: QuerySource, { tx }: Session): Promise<string | null> => {
    // code of a v4 project writes by types of its own, which show everything
    const type = typeOf(model, event.type.uid);
    const { id } = event;
    const request = { action: 'findOne', type, id, query, form: 'plain', drafts: 'written' } as const;
    return unwrap(await reader.readInside(request, context, tx))?.body.toString() ?? null;
  };

  /** The entry as JSON, with what it relates to unless that is too much; null if it is gone. */
  const readEntry = async (event: WriteEvent, session: Session): Promise<string | null> => {
    // v4 sends files without what they relate to
    if (event.type.uid === FILE_UID) return read(event, noQuery, session);
    try {
      const text = await savepoint(session.tx, () => read(event, populated, session));
      if (text === null || Buffer.byteLength(text) <= limits.webhookBodyBytesMax) return text;
    } catch (fault) {
      if (!(fault instanceof Refusal) || !fault.issues.every(({ code }) => code.startsWith('read.'))) throw fault;
    }
    return read(event, noQuery, session);
  };

  return {
    wants: (events) => (webhooks().length > 0 || listeners?.isListening() === true) && events.some(isHeard),
    record: async (events, session) => {
      const time = now();
      const createdAt = JSON.stringify(new Date(time));
      const deliveries: NewDelivery[] = [];
      for (const event of events) {
        if (!isHeard(event)) continue;
        const entry = await readEntry(event, session);
        if (entry === null) continue;
        if (isForListeners(event))
          told.set(session, (told.get(session) ?? new Map<WriteEvent, string>()).set(event, entry));
        for (const name of eventsOf(event)) {
          const body = `{"event":"${name}","createdAt":${createdAt},${factsOf(name, event, entry)}}`;
          for (const webhook of webhooksOf(name))
            deliveries.push({
              webhookId: webhook.id,
              subject: `${event.type.uid} ${event.id}`,
              message: crypto.randomUUID(),
              event: name,
              body,
            });
        }
      }
      if (deliveries.length === 0) return;
      await insertDeliveries(deliveries, time, session.tx, dialect);
      recorded.add(session);
    },
    committed: (session) => {
      if (recorded.has(session)) onRecorded();
      const entries = told.get(session);
      if (entries)
        listeners?.tell(
          session.events.flatMap((event) => {
            const entry = entries.get(event);
            if (entry === undefined) return [];
            return eventsOf(event).map((name) => ({ name, facts: JSON.parse(`{${factsOf(name, event, entry)}}`) }));
          }),
        );
    },
  };
};

/** Members of a JSON object. @param entry JSON. */
const factsOf = (name: EventName, { type: { uid, singular } }: WriteEvent, entry: string): string =>
  name.startsWith('media.')
    ? `"media":${entry}`
    : `"model":${JSON.stringify(singular)},"uid":${JSON.stringify(uid)},"entry":${entry}`;

/** Relations, media and components, one level deep; drafts too, as in v4. */
const populated = objectQuery({ populate: '*', publicationState: 'preview' });
