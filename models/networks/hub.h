/* Ids of the Hugging Face Hub: "org/name", the addresses of its pages, and the config.json files that its
 * tools keep on this machine. Nothing is fetched. Internal to models/networks. */
#pragma once

/* The id that a spec names: "org/name" itself, or an address of the model (https://huggingface.co/org/name,
 * with or without /tree/main, /resolve/main/config.json or a slash behind it; also of old models without an
 * org). NULL where it is neither. Free it. */
char *rt_hub_id(const char *spec);

/* The config.json of that id in the cache that huggingface_hub keeps: of the revision that "main" was when it
 * was fetched last. The folder is $HF_HUB_CACHE, $HUGGINGFACE_HUB_CACHE, $HF_HOME/hub or
 * ~/.cache/huggingface/hub; case does not matter. NULL: not there. Free it. */
char *rt_hub_cached(const char *id);
/* Where it looks, for sentences. Free it. */
char *rt_hub_folder(void);
