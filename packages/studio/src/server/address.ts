/** Where the Studio and the server that sends it are. */

/** The path of the Studio, such as `/studio`; longer behind a proxy that serves it below a path. */
export const studioPath = new URL(document.baseURI).pathname.replace(/\/+$/, '');

/** The URL of the server, without a slash at the end: what stands before `/api`, `/admin` and `/_dovetail`. */
export const serverUrl = `${location.origin}${studioPath.replace(/\/studio$/, '')}`;
