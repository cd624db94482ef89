import { Waiting } from '../parts/Waiting.js';

/** The whole page, while it is not known who is signed in and what the model is. */
export const PageWaiting = () => (
  <div className="frame">
    <header className="bar">
      <div className="bar-line" />
    </header>
    <main className="room">
      <Waiting />
    </main>
  </div>
);
