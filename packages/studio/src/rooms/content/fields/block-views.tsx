/** How the nodes of blocks are shown in their editor. */
import { type RenderElementProps, type RenderLeafProps, useFocused, useSelected } from 'slate-react';
import { addressOf } from '../../../parts/media/files.js';
import { serverUrl } from '../../../server/address.js';
import { safeUrl } from './block-nodes.js';
import styles from './fields.module.css';

export const Block = ({ element, attributes, children }: RenderElementProps) => {
  switch (element.type) {
    case 'heading':
      // the page's headings are about the form, not about what is written in it
      return (
        <p {...attributes} className={styles['heading']} data-level={element.level ?? 1}>
          {children}
        </p>
      );
    case 'quote':
      return <blockquote {...attributes}>{children}</blockquote>;
    case 'code':
      return (
        <pre {...attributes}>
          <code>{children}</code>
        </pre>
      );
    case 'list':
      return element.format === 'ordered' ? <ol {...attributes}>{children}</ol> : <ul {...attributes}>{children}</ul>;
    case 'list-item':
      return <li {...attributes}>{children}</li>;
    case 'link':
      return (
        <a {...attributes} href={safeUrl(element.url ?? '')} title={element.url}>
          {children}
        </a>
      );
    case 'image':
      return (
        <Picture element={element} attributes={attributes}>
          {children}
        </Picture>
      );
    default:
      return <p {...attributes}>{children}</p>;
  }
};

const Picture = ({ element, attributes, children }: RenderElementProps) => {
  const isSelected = useSelected();
  const isFocused = useFocused();
  const image = (element.image ?? {}) as { readonly url?: string; readonly alternativeText?: string; name?: string };
  return (
    <div {...attributes} className={styles['void']} data-selected={(isSelected && isFocused) || undefined}>
      <div contentEditable={false}>
        <img
          src={image.url === undefined ? undefined : addressOf(image.url, serverUrl)}
          alt={image.alternativeText ?? image.name ?? ''}
          style={{ maxWidth: '100%', maxHeight: 320 }}
        />
      </div>
      {children}
    </div>
  );
};

export const Leaf = ({ leaf, attributes, children }: RenderLeafProps) => {
  let shown = children;
  if (leaf.code) shown = <code>{shown}</code>;
  if (leaf.bold) shown = <strong>{shown}</strong>;
  if (leaf.italic) shown = <em>{shown}</em>;
  if (leaf.underline) shown = <u>{shown}</u>;
  if (leaf.strikethrough) shown = <s>{shown}</s>;
  return <span {...attributes}>{shown}</span>;
};
