/** Where an entry is gone: unsaved work on it, which can go on as a new entry. */
import { Alert, Button, Group, Text } from '@mantine/core';
import { randomId } from '@mantine/hooks';
import { IconHistory } from '@tabler/icons-react';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import type { Type } from '../../../model/model.js';
import { Instant } from '../../../parts/Instant.js';
import { useModel } from '../../../server/queries.js';
import { administrator } from '../../../session/session.js';
import { words } from '../../../words/index.js';
import { copyOfFields } from '../form/parts.js';
import { entryAddress } from '../relations/entry-address.js';
import { forgetUnsaved, keepNew, type OrphanedWork, orphanedUnsaved, readUnsaved } from './unsaved.js';

const texts = words.relations.saving;

export const OrphanedWorks = ({ type, id }: { readonly type: Type; readonly id: number }) => {
  const model = useModel();
  const navigate = useNavigate();
  const [works, setWorks] = useState<readonly OrphanedWork[]>([]);
  const [isFull, setFull] = useState(false);
  useEffect(() => {
    void orphanedUnsaved(administrator()?.id ?? null, type.uid, id).then(setWorks);
  }, [type.uid, id]);
  const drop = ({ key, tab }: OrphanedWork): void => {
    forgetUnsaved(key, tab);
    setWorks((all) => all.filter((it) => it.tab !== tab));
  };
  const renew = (work: OrphanedWork): void => {
    const { key, unsaved } = work;
    // beside an unsaved new entry it is offered there, as what a closed tab has left is
    const tab = readUnsaved({ ...key, id: null }) === null ? undefined : randomId('');
    if (!keepNew(key, type, 'form', copyOfFields(model, type, unsaved.values, 'create'), tab)) {
      setFull(true);
      return;
    }
    drop(work);
    const search = key.locale === null ? {} : { locale: key.locale };
    void navigate({ to: entryAddress(type, { id: null }), search } as never);
  };
  if (works.length === 0) return null;
  return (
    <Alert role="status" variant="light" icon={<IconHistory />} title={texts.orphaned} ta="start">
      {works.map((work) => (
        <Group key={work.tab} gap="xs" mt="xs">
          <Text size="sm" component="div">
            {texts.restoredFrom} <Instant value={new Date(work.unsaved.at).toISOString()} />
          </Text>
          {type.may.create && (
            <Button size="compact-sm" variant="default" onClick={() => renew(work)}>
              {texts.renew}
            </Button>
          )}
          <Button size="compact-sm" variant="default" onClick={() => drop(work)}>
            {texts.discard}
          </Button>
        </Group>
      ))}
      {isFull && (
        <Text size="sm" mt="xs" role="alert">
          {texts.cannotCopy}
        </Text>
      )}
    </Alert>
  );
};
