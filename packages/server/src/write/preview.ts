/**
 * The data of a create or update as hooks of v4 projects see it: as v4 hands it to the database, with defaults, values of the
 * right types, hashes instead of passwords, and times.
 */
import { isBcrypt } from '../access/passwords.js';
import { unwrap } from '../errors.js';
import { limits } from '../limits.js';
import { isSecretType, parseInstant, scalarTypes } from '../model/attributes.js';
import type { Attribute, ScalarAttribute } from '../model/model.js';
import { knowAhead, removeUnplaced, writePartsAhead } from './ahead.js';
import { isServerKey, readPublishedAt } from './change.js';
import { checkBeforeHooks } from './checks.js';
import { nextVersion, type StoredEntry } from './entry.js';
import { type Inherited, readInherited } from './inherited.js';
import { inheritedNames, localeOfNew, localeOfSibling } from './locales.js';
import { adoptLooseParts } from './loose-parts.js';
import { hashOf } from './passwords.js';
import { placesOf } from './places.js';
import type { Data, Preview } from './request.js';
import { changesOf } from './snapshot.js';
import { checkContext, type Given, isDraftAfter, noNames, type PublishedAt, parseData, type Write } from './writing.js';

type Open = Record<string, unknown>;

/** @param stored null if the entry is new. @param source null, or the entry of which a new one becomes a sibling. */
export const previewOf = (
  write: Write,
  { data, hashes }: Given,
  stored: StoredEntry | null,
  source: StoredEntry | null,
): Preview => {
  const { request, context, byHooks } = write;
  const { type } = request;
  const isSibling = source !== null;
  // what requests cannot write is no longer in the data
  const inherited = isSibling ? inheritedNames(type, data, { isOfCode: true }) : noNames;
  /** What hooks have seen of the source. */
  let shared: Inherited | null = null;
  const shown = stored ? nextVersion(write.now(), [stored]) : write.now();

  /** False if the value is invalid. */
  const completeScalar = async (holder: Open, attribute: ScalarAttribute, isNew: boolean, draft: boolean) => {
    const { name, rules } = attribute;
    if (rules.frozen) return true;
    if (!Object.hasOwn(holder, name) && isNew && rules.defaultValue != null)
      holder[name] = structuredClone(rules.defaultValue);
    const value = Object.hasOwn(holder, name) ? holder[name] : null;
    if (value === null || value === undefined) return true;
    const { parseJson, bodyType } = scalarTypes[attribute.type];
    const parsed = parseJson(value, { rules, path: [name], draft });
    if (!parsed.ok) return false;
    if (isSecretType(attribute.type)) holder[name] = await hashOf(String(value), rules.hashRounds, hashes);
    else if (bodyType === 'number' || bodyType === 'boolean') holder[name] = parsed.value;
    return true;
  };

  const addTimes = (copy: Open): void => {
    for (const name of timeNames) delete copy[name];
    const { times } = byHooks;
    // of an update, the version is only known now
    const chosen = stored && times?.updatedAt === times?.shown ? null : times?.updatedAt;
    copy['updatedAt'] = new Date(chosen ?? shown);
    if (!stored || times?.createdAt != null) copy['createdAt'] = new Date(times?.createdAt ?? shown);
  };

  /** @param publishedAt as the data has it. */
  const isDraft = (publishedAt: PublishedAt): boolean =>
    stored
      ? isDraftAfter(request, stored, publishedAt)
      : (request.isPartOfDraft ??
        (type.draftAndPublish && (publishedAt === null || (publishedAt === undefined && isSibling))));

  const setLocale = async (copy: Open): Promise<void> => {
    if (!type.localized) return;
    const checking = checkContext(write);
    // an entry keeps its own
    if (stored) for (const name of localeNames) delete copy[name];
    else if (source) copy['locale'] = await localeOfSibling(copy['locale'], 'existing', checking);
    else {
      const given = request.locale ?? copy['locale'];
      copy['locale'] = await localeOfNew(given, context.defaultLocale, 'existing', checking);
    }
  };

  const addInherited = async (copy: Open): Promise<void> => {
    if (!source) return;
    shared = await readInherited(write, source.id, inherited);
    Object.assign(copy, structuredClone(shared.shown));
  };

  const addOwn = async (copy: Open): Promise<void> => {
    addTimes(copy);
    await addInherited(copy);
  };

  const completeAll = async (copy: Open): Promise<boolean> => {
    const publishedAt = readPublishedAt(type, copy);
    if (!publishedAt.ok) return false;
    if (!stored && !isSibling && type.draftAndPublish && publishedAt.value === undefined)
      copy['publishedAt'] = new Date(shown);
    const draft = isDraft(publishedAt.value);
    let partsLeft: number = limits.partsMax;
    for (const place of placesOf(copy, type, context.model)) {
      const isEntry = place.data === copy;
      const isNew = stored === null || (!isEntry && place.data['id'] === undefined);
      for (const attribute of place.type.attributes.values()) {
        if (attribute.kind !== 'scalar') continue;
        if (isEntry && (isServerKey(type, attribute.name) || inherited.has(attribute.name))) continue;
        if (!(await completeScalar(place.data, attribute, isNew, draft))) return false;
      }
      // bodies with more are refused
      if (partsLeft-- < 0) return false;
    }
    await setLocale(copy);
    await addOwn(copy);
    return true;
  };

  /**
   * Whether the data keeps all rules, before hooks add to it. Throws a `Refusal` for targets that do not exist, and for unique values that
   * others have.
   */
  const isValid = async (): Promise<boolean> => {
    const publishedAt = readPublishedAt(type, data);
    if (!publishedAt.ok) return false;
    const draft = isDraft(publishedAt.value);
    const { issues, change } = parseData(write, data, stored ? 'update' : 'create', draft, inherited);
    if (issues.length > 0) return false;
    await checkBeforeHooks(changesOf(change, stored?.id ?? null), checkContext(write));
    return true;
  };

  return {
    complete: async (copy) => {
      const mayBeSeen = (await isValid()) && (await completeAll(copy));
      byHooks.isSkipped = !mayBeSeen;
      return mayBeSeen;
    },
    writeParts: async (copy) => {
      const draft = isDraft(unwrap(readPublishedAt(type, data)));
      const isValid = await writePartsAhead(
        write,
        { data, hashes },
        { id: stored?.id ?? null, isDraft: draft, shown: copy },
      );
      byHooks.isSkipped = !isValid;
      return isValid;
    },
    addOwn,
    take: async (left, { creators, newId } = { creators: null, newId: undefined }) => {
      byHooks.creators = creators;
      byHooks.newId = newId;
      const { createdAt, updatedAt, ...rest } = left;
      // a text of the client is no hash, even if a hook puts it where a password was
      const ofClient = hashesIn(data);
      for (const name of Object.keys(data)) delete data[name];
      // what is assigned as `__proto__` would be the prototype of the data
      for (const [name, value] of Object.entries(rest))
        if (name !== '__proto__' && !shared?.isLeft(name, value)) data[name] = value;
      // whatever the hooks saw, without a word of it an entry is a draft
      if (!stored && !isSibling && type.draftAndPublish) data['publishedAt'] ??= null;
      for (const place of placesOf(data, type, context.model))
        for (const [name, value] of Object.entries(place.data))
          if (isPassword(place.type.attributes.get(name)) && typeof value === 'string' && isBcrypt(value))
            if (!ofClient.has(value)) byHooks.hashes.add(value);
      knowAhead(data, type, write);
      await shared?.copyNamed(data);
      byHooks.times = {
        createdAt: timeOf(createdAt, 'createdAt'),
        updatedAt: timeOf(updatedAt, 'updatedAt'),
        shown,
      };
      await adoptLooseParts(write, data, byHooks.turnedTo ?? stored?.id ?? null);
      await removeUnplaced(write, data, context.model);
    },
  };
};

const localeNames = ['locale', 'localizations'] as const;

const timeNames = ['createdAt', 'updatedAt'] as const;

const isPassword = (attribute: Attribute | undefined): boolean =>
  attribute?.kind === 'scalar' && isSecretType(attribute.type);

/** Everything in the data that looks like the hash of a password, wherever it is. */
const hashesIn = (data: Data): ReadonlySet<string> =>
  new Set(JSON.stringify(data).match(/\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}/g));

const timeOf = (given: unknown, name: string): number | null | undefined =>
  given === undefined || given === null ? given : unwrap(parseInstant(String(given), [name]));
