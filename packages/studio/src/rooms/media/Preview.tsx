/** A file as far as it can be shown without running anything of it: never as a document. */
import { Text } from '@mantine/core';
import { useState } from 'react';
import { isDrawn, kindOf, type MediaFile, pictureOf, shownAt } from '../../parts/media/files.js';
import { KindIcon } from '../../parts/media/Picture.js';
import { serverUrl } from '../../server/address.js';
import { words } from '../../words/index.js';
import styles from './room.module.css';

const texts = words.media.file;

export const Preview = ({ file }: { readonly file: MediaFile }) => (
  <figure className={styles['preview']} aria-label={texts.preview} style={{ margin: 0 }}>
    <Content file={file} />
  </figure>
);

const Content = ({ file }: { readonly file: MediaFile }) => {
  const url = shownAt(file.url, file, serverUrl);
  // a file whose content was replaced has another address
  const [failed, setFailed] = useState<string | null>(null);
  if (failed === url) return <None file={file} text={texts.broken} />;
  const onError = (): void => setFailed(url);
  switch (kindOf(file.mime)) {
    case 'image': {
      // a copy in a format that browsers draw, if the original is none
      const picture = isDrawn(file) ? url : pictureOf(file, 1000);
      if (picture === null) return <None file={file} text={texts.noPreview} />;
      const source = picture === url ? url : shownAt(picture, file, serverUrl);
      return <img src={source} alt={file.alternativeText ?? file.name} onError={onError} />;
    }
    case 'video':
      // biome-ignore lint/a11y/useMediaCaption: captions are no part of a file of the library
      return <video src={url} controls preload="metadata" aria-label={file.name} onError={onError} />;
    case 'audio':
      // biome-ignore lint/a11y/useMediaCaption: captions are no part of a file of the library
      return <audio src={url} controls preload="metadata" aria-label={file.name} onError={onError} />;
    case 'file':
      return <None file={file} text={texts.noPreview} />;
  }
};

const None = ({ file, text }: { readonly file: MediaFile; readonly text: string }) => (
  <div style={{ textAlign: 'center' }}>
    <KindIcon mime={file.mime} size={64} />
    <Text size="sm" c="dimmed">
      {text}
    </Text>
  </div>
);
