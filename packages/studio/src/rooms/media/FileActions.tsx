/** A file is downloaded, replaced and deleted; where it is used is said before. */
import { Button, FileButton, Group, Progress } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { byteSize } from '../../parts/ByteSize.js';
import { Confirm, type Question } from '../../parts/Confirm.js';
import { MayButton } from '../../parts/MayButton.js';
import { addressOf, kindOf, type MediaFile } from '../../parts/media/files.js';
import { useMediaRights, useRefresh, useUses } from '../../parts/media/library.js';
import { serverUrl } from '../../server/address.js';
import { useClient } from '../../server/queries.js';
import { words } from '../../words/index.js';
import { UsesList } from './Uses.js';

const { file: texts, may } = words.media;

/** Uses that a question names. */
const USES_ASKED = 5;

export const FileActions = ({ file, etag }: { readonly file: MediaFile; readonly etag: string | null }) => {
  const client = useClient();
  const navigate = useNavigate();
  const refresh = useRefresh();
  const rights = useMediaRights();
  const uses = useUses(file.id).data;
  const [question, setQuestion] = useState<Question | null>(null);
  const [percent, setPercent] = useState<number | null>(null);
  const headers = etag === null ? {} : { 'if-match': etag };
  const used = uses && uses.total > 0 ? { details: <UsesList uses={uses} most={USES_ASKED} /> } : {};

  const askToReplace = (content: File): void =>
    setQuestion({
      title: texts.replaceTitle(file.name),
      text: [
        texts.replaceText(content.name, byteSize(content.size)),
        // the URL keeps the ending that it has
        kindOf(content.type) === kindOf(file.mime) ? '' : texts.replaceKind(file.ext ?? ''),
        uses && (uses.total > 0 ? texts.replaceUsed(uses.total) : texts.usesNone),
      ]
        .filter(Boolean)
        .join(' '),
      ...used,
      action: texts.replaceAction,
      run: async () => {
        try {
          await client.files.replace(file.id, content, undefined, {
            headers,
            onProgress: ({ sent, total }) => setPercent(total === 0 ? 0 : Math.floor((sent / total) * 100)),
          });
        } finally {
          setPercent(null);
        }
        await refresh();
      },
    });
  const askToDelete = (): void =>
    setQuestion({
      title: texts.deleteTitle(file.name),
      text:
        uses === undefined
          ? texts.deleteUnknown
          : uses.total > 0
            ? texts.deleteUsed(uses.total)
            : `${texts.usesNone} ${texts.deleteForEver}`,
      ...used,
      action: texts.deleteAction,
      run: async () => {
        await client.files.delete(file.id, { headers });
        // texts of a file that is gone cannot be saved any more
        await navigate({
          to: '/media',
          search: file.folder ? { folder: file.folder.id } : {},
          ignoreBlocker: true,
        });
        await refresh();
      },
    });
  return (
    <Group gap="xs">
      <Button component="a" size="sm" variant="default" href={addressOf(file.url, serverUrl)} download={file.name}>
        {texts.download}
      </Button>
      <FileButton onChange={(content) => content && askToReplace(content)}>
        {({ onClick }) => (
          <MayButton size="sm" variant="default" may={rights.update} why={may.notUpdate} onClick={onClick}>
            {texts.replace}
          </MayButton>
        )}
      </FileButton>
      <MayButton size="sm" variant="default" may={rights.update} why={may.notDelete} onClick={askToDelete}>
        {texts.delete}
      </MayButton>
      {percent !== null && <Progress w={120} value={percent} aria-label={texts.replacing(percent)} />}
      <Confirm question={question} onClose={() => setQuestion(null)} />
    </Group>
  );
};
