/** What stands for a file in lists: a small picture of it, or its extension. Only ever an `<img>`, which runs no script. */
import { IconFile, IconFileText, IconMusic, IconPhoto, IconVideo } from '@tabler/icons-react';
import { useState } from 'react';
import { serverUrl } from '../../server/address.js';
import { badgeOf, type Kind, kindOf, type MediaFile, pictureOf, shownAt } from './files.js';
import styles from './media.module.css';

const icons: Readonly<Record<Kind, typeof IconFile>> = {
  image: IconPhoto,
  video: IconVideo,
  audio: IconMusic,
  file: IconFile,
};

export const KindIcon = ({ mime, size = 28 }: { readonly mime: string; readonly size?: number }) => {
  const Icon = mime.startsWith('text/') || mime === 'application/pdf' ? IconFileText : icons[kindOf(mime)];
  return <Icon size={size} stroke={1.5} aria-hidden />;
};

/** The name stands beside it, so that the picture needs no text of its own. */
export const Picture = ({ file, size = 'tile' }: { readonly file: MediaFile; readonly size?: 'tile' | 'row' }) => {
  const [failed, setFailed] = useState<string | null>(null);
  const url = pictureOf(file, size === 'tile' ? 200 : 100);
  return (
    <span className={size === 'tile' ? styles['picture'] : `${styles['picture']} ${styles['small']}`}>
      {url !== null && failed !== url ? (
        <img
          src={shownAt(url, file, serverUrl)}
          alt=""
          // what is dragged is the file, not a copy of its picture
          draggable={false}
          loading="lazy"
          decoding="async"
          onError={() => setFailed(url)}
        />
      ) : (
        <span className={styles['badge']} aria-hidden>
          <KindIcon mime={file.mime} size={size === 'tile' ? 28 : 20} />
          <span>{badgeOf(file)}</span>
        </span>
      )}
    </span>
  );
};
