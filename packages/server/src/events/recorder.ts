/** Records writes as deliveries in the outbox, with the entries as they are in the transaction. */
import crypto from 'node:crypto';
import { serverGate } from '../access/access.js';
import { Refusal, unwrap } from '../errors.js';
import { limits } from '../limits.js';
import { FILE_UID, type Model } from '../model/model.js';
import { noQuery, objectQuery } from '../query/objects.js';
import type { QuerySource } from '../query/raw.js';
import type { ResolveContext } from '../query/resolve.js';
import type { Reader } from '../read/find.js';
import type { Dialect } from '../sql/dialect.js';
import { savepoint } from '../sql/savepoint.js';
import type { Recorder } from '../write/request.js';
import type { Session, WriteEvent } from '../write/session.js';
import { type EventName, eventsOf } from './events.js';
import { insertDeliveries, type NewDelivery } from './outbox.js';
import type { Webhook } from './webhooks.js';

export interface RecorderDeps {
  readonly model: Model;
  readonly reader: Reader;
  readonly dialect: Dialect;
  readonly settings: Pick<ResolveContext, 'rest'>;
  /** Those that are told. */
  readonly webhooks: () => readonly Webhook[];
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
  now,
  onRecorded,
}: RecorderDeps): Recorder => {
  const context: ResolveContext = { ...settings, model, gate: serverGate, strict: true, defaultLocale: null };
  const recorded = new WeakSet<Session>();
  const listeners = (event: EventName): readonly Webhook[] => webhooks().filter((it) => it.events.includes(event));
  const isHeard = (event: WriteEvent): boolean => eventsOf(event).some((name) => listeners(name).length > 0);

  const read = async ({ type, id }: WriteEvent, query: QuerySource, { tx }: Session): Promise<string | null> => {
    const request = { action: 'findOne', type, id, query, form: 'plain', showDraft: true } as const;
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
    wants: (events) => webhooks().length > 0 && events.some(isHeard),
    record: async (events, session) => {
      const time = now();
      const createdAt = JSON.stringify(new Date(time));
      const deliveries: NewDelivery[] = [];
      for (const event of events) {
        if (!isHeard(event)) continue;
        const entry = await readEntry(event, session);
        if (entry === null) continue;
        const { uid, singular } = event.type;
        for (const name of eventsOf(event)) {
          const about = name.startsWith('media.')
            ? `"media":${entry}`
            : `"model":${JSON.stringify(singular)},"uid":${JSON.stringify(uid)},"entry":${entry}`;
          const body = `{"event":"${name}","createdAt":${createdAt},${about}}`;
          for (const webhook of listeners(name))
            deliveries.push({
              webhookId: webhook.id,
              subject: `${uid} ${event.id}`,
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
    },
  };
};

/** Relations, media and components, one level deep; drafts too, as in v4. */
const populated = objectQuery({ populate: '*', publicationState: 'preview' });
