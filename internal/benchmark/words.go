package benchmark

import "github.com/gpunex/gpunex/internal/gpu"

// words are what a mail says of a failure in one language. Causes follow a colon.
type words struct {
	proof  string
	comma  string // of decimals
	figure map[gpu.Figure]string
	below  map[gpu.Figure]string // likely causes of a figure below its floor, and what to do
	cause  map[string]string     // the same for the other failures
}

func wordsOf(locale string) words {
	switch locale {
	case "pt-PT":
		return portuguese()
	case "fr":
		return french()
	case "de":
		return german()
	}
	return english()
}

func figures(tensor, fp16, fp32, bandwidth, vram string) map[gpu.Figure]string {
	return map[gpu.Figure]string{gpu.Tensor: tensor, gpu.FP16: fp16, gpu.FP32: fp32, gpu.Bandwidth: bandwidth, gpu.VRAM: vram}
}

func causes(proof, unrated, number string) map[string]string {
	return map[string]string{"proof_failed": proof, "proof_late": proof, "unrated": unrated, "not_a_number": number}
}

func english() words {
	const compute = "a lowered power limit, heat, or another program on the GPU. Check nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE, end other programs and run the benchmark again."
	return words{
		proof:  "Proof of GPU",
		comma:  ".",
		figure: figures("Tensor cores", "FP16", "FP32", "Memory bandwidth", "Usable VRAM"),
		below: figures(compute, compute, compute,
			"a lowered memory clock, heat, or memory errors. Check nvidia-smi -q -d CLOCK,ECC and run the benchmark again.",
			"another program or a desktop holds memory. End it and run the benchmark again."),
		cause: causes("the answer wasn't the one that this GPU computes. Check for memory errors (nvidia-smi -q -d ECC) and write to us.",
			"this model isn't in our catalogue yet. We evaluate it and write to you.",
			"the figure is missing or isn't one that this model can measure. Install the newest agent and run the benchmark again."),
	}
}

func portuguese() words {
	const compute = "limite de potência reduzido, calor ou outro programa na GPU. Verifique nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE, termine outros programas e repita o benchmark."
	return words{
		proof:  "Prova de GPU",
		comma:  ",",
		figure: figures("Tensor cores", "FP16", "FP32", "Largura de banda da memória", "VRAM utilizável"),
		below: figures(compute, compute, compute,
			"frequência da memória reduzida, calor ou erros de memória. Verifique nvidia-smi -q -d CLOCK,ECC e repita o benchmark.",
			"outro programa ou um ambiente gráfico ocupa memória. Termine-o e repita o benchmark."),
		cause: causes("a resposta não foi a que esta GPU calcula. Verifique se há erros de memória (nvidia-smi -q -d ECC) e escreva-nos.",
			"este modelo ainda não está no nosso catálogo. Vamos avaliá-lo e escrever-lhe.",
			"o valor falta ou não é um que este modelo possa medir. Instale o agente mais recente e repita o benchmark."),
	}
}

func french() words {
	const compute = "limite de puissance abaissée, chaleur ou autre programme sur le GPU. Vérifiez nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE, arrêtez les autres programmes et relancez le benchmark."
	return words{
		proof:  "Preuve de GPU",
		comma:  ",",
		figure: figures("Tensor cores", "FP16", "FP32", "Bande passante mémoire", "VRAM utilisable"),
		below: figures(compute, compute, compute,
			"fréquence mémoire abaissée, chaleur ou erreurs de mémoire. Vérifiez nvidia-smi -q -d CLOCK,ECC et relancez le benchmark.",
			"un autre programme ou un bureau occupe de la mémoire. Arrêtez-le et relancez le benchmark."),
		cause: causes("la réponse n’est pas celle que ce GPU calcule. Vérifiez les erreurs de mémoire (nvidia-smi -q -d ECC) et écrivez-nous.",
			"ce modèle n’est pas encore dans notre catalogue. Nous l’évaluons et vous écrivons.",
			"la valeur manque ou n’est pas mesurable par ce modèle. Installez le dernier agent et relancez le benchmark."),
	}
}

func german() words {
	const compute = "gesenkte Leistungsgrenze, Hitze oder ein anderes Programm auf der GPU. Prüfen Sie nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE, beenden Sie andere Programme und wiederholen Sie den Benchmark."
	return words{
		proof:  "GPU-Nachweis",
		comma:  ",",
		figure: figures("Tensor-Kerne", "FP16", "FP32", "Speicherbandbreite", "Nutzbarer VRAM"),
		below: figures(compute, compute, compute,
			"gesenkter Speichertakt, Hitze oder Speicherfehler. Prüfen Sie nvidia-smi -q -d CLOCK,ECC und wiederholen Sie den Benchmark.",
			"ein anderes Programm oder eine grafische Oberfläche belegt Speicher. Beenden Sie es und wiederholen Sie den Benchmark."),
		cause: causes("die Antwort war nicht die, die diese GPU berechnet. Prüfen Sie auf Speicherfehler (nvidia-smi -q -d ECC) und schreiben Sie uns.",
			"dieses Modell ist noch nicht in unserem Katalog. Wir prüfen es und schreiben Ihnen.",
			"der Wert fehlt oder ist keiner, den dieses Modell messen kann. Installieren Sie den neuesten Agenten und wiederholen Sie den Benchmark."),
	}
}
