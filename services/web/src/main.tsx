import { render } from "preact";
import { App } from "./app.tsx";
import "./styles/base.css";
import "./styles/overview.css";
import "./styles/tabs.css";

const root = document.getElementById("page");
if (root) render(<App />, root);
