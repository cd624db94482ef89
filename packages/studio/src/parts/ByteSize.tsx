/** A number of bytes as people read it. */
const units = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

export const byteSize = (bytes: number): string => {
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  const value = bytes / 1000 ** power;
  return `${power === 0 ? value : value.toPrecision(3)} ${units[power]}`;
};

export const ByteSize = ({ bytes }: { readonly bytes: number }) => <span title={`${bytes} B`}>{byteSize(bytes)}</span>;
