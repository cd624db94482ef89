/** One file: preview, what is said of it, its formats, where it is used; replaced and deleted here. */
import { Group, Stack, Text, Title } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import { DovetailError } from 'dovetail-client';
import type { ReactNode } from 'react';
import { ByteSize } from '../../parts/ByteSize.js';
import { EmptyState } from '../../parts/EmptyState.js';
import { Fault } from '../../parts/Fault.js';
import { Instant } from '../../parts/Instant.js';
import { AnchorLink } from '../../parts/links.js';
import { bytesOf, kindOf, type MediaFile } from '../../parts/media/files.js';
import { useFile, useUses } from '../../parts/media/library.js';
import { NeedsAccount } from '../../parts/NeedsAccount.js';
import { Pairs } from '../../parts/Pairs.js';
import { Section } from '../../parts/Section.js';
import { Waiting } from '../../parts/Waiting.js';
import { useAdministrator } from '../../server/queries.js';
import { usePageTitle } from '../../shell/page-title.js';
import { PageFault } from '../../shell/RouteFault.js';
import { words } from '../../words/index.js';
import { FileActions } from './FileActions.js';
import { FileDetails } from './FileDetails.js';
import { Formats } from './Formats.js';
import { Preview } from './Preview.js';
import styles from './room.module.css';
import { UsesList } from './Uses.js';

const { file: texts, may, ...library } = words.media;

export const FilePage = () => {
  const isSignedIn = useAdministrator() !== null;
  const { id } = useParams({ strict: false });
  if (!isSignedIn) return <NeedsAccount title={library.title} text={may.signIn} />;
  return <Loaded key={id} id={Number(id)} />;
};

const Loaded = ({ id }: { readonly id: number }) => {
  const { data, error, refetch } = useFile(id);
  const isGone = error instanceof DovetailError && error.status === 404;
  usePageTitle(isGone ? texts.gone : words.shell.pageOf(data?.file.name ?? `#${id}`, words.shell.rooms.media));
  if (isGone)
    return (
      <EmptyState title={texts.gone} level={1}>
        <AnchorLink to="/media">{texts.back}</AnchorLink>
      </EmptyState>
    );
  if (error) return <PageFault fault={error} onRetry={() => void refetch()} />;
  return data ? <Shown file={data.file} etag={data.etag} /> : <Waiting />;
};

const Shown = ({ file, etag }: { readonly file: MediaFile; readonly etag: string | null }) => (
  <Stack gap="md">
    <Group justify="space-between" align="start">
      <div>
        <AnchorLink to="/media" search={file.folder ? { folder: file.folder.id } : {}} size="sm">
          {texts.back}
        </AnchorLink>
        <Title order={1} style={{ overflowWrap: 'anywhere' }}>
          {file.name}
        </Title>
      </div>
      <FileActions file={file} etag={etag} />
    </Group>
    <div className={styles['file']}>
      <Stack gap="md">
        <Preview file={file} />
        <Formats file={file} />
        <UsesOf id={file.id} />
      </Stack>
      <Stack gap="md">
        <FileDetails file={file} etag={etag} />
        <Facts file={file} />
      </Stack>
    </div>
  </Stack>
);

const Facts = ({ file }: { readonly file: MediaFile }) => {
  const pairs: readonly (readonly [string, ReactNode])[] = [
    [texts.kind, library.kind[kindOf(file.mime)]],
    [texts.mime, file.mime],
    [texts.size, <ByteSize key="size" bytes={bytesOf(file.size)} />],
    ...(file.width === null || file.height === null
      ? []
      : [[texts.dimensions, library.dimensions(file.width, file.height)] as const]),
    [texts.added, <Instant key="added" value={file.createdAt} />],
    [texts.changed, <Instant key="changed" value={file.updatedAt} />],
    [texts.provider, file.provider],
    [texts.id, file.id],
  ];
  return <Pairs pairs={pairs} />;
};

const UsesOf = ({ id }: { readonly id: number }) => {
  const { data, error, refetch } = useUses(id);
  const list = (): ReactNode => {
    if (error) return <Fault fault={error} onRetry={() => void refetch()} />;
    if (!data) return <Waiting rows={2} />;
    if (data.total > 0) return <UsesList uses={data} />;
    return (
      <Text size="sm" c="dimmed">
        {texts.usesNone}
      </Text>
    );
  };
  return <Section title={texts.uses}>{list()}</Section>;
};
